"""`quarterdeck envtest`: the programs that controller-runtime's envtest starts."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Option


def envtest(
    folder: Annotated[
        str,
        Option("--dir", metavar="DIR", help="Folder to write to (default: in the user's cache)."),
    ] = "",
    json: Json = False,
) -> None:
    """Write kube-apiserver, etcd and kubectl for KUBEBUILDER_ASSETS; the last line is the folder.

    A Go suite that uses controller-runtime's envtest then runs unchanged:
    KUBEBUILDER_ASSETS=$(quarterdeck envtest | tail -1) go test ./...
    """
    from quarterdeck.app.envtest.folder import PROGRAMS, choose_folder, write_programs

    chosen = Path(folder) if folder else choose_folder(dict(os.environ))
    written = write_programs(chosen, datetime.now(UTC))
    text = f"wrote {', '.join(PROGRAMS)}; use KUBEBUILDER_ASSETS=\n{written}"
    print_result({"folder": str(written), "programs": list(PROGRAMS)}, text, as_json=json)


COMMAND = Command(envtest)
