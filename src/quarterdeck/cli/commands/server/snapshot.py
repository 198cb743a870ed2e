"""`quarterdeck server snapshot`: copy the database to a file."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import DataDir, Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument


def snapshot(
    file: Annotated[str, Argument(metavar="FILE", help="File to write; it must not exist.")],
    data_dir: DataDir = ".quarterdeck",
    json: Json = False,
) -> None:
    """Copy the database to a file and check the copy; the server may run meanwhile."""
    from quarterdeck.app import backup

    report = backup.snapshot(Path(data_dir), Path(file))
    result = {"file": file, "objects": report.objects, "revision": report.revision}
    text = f"{file} has {report.objects} objects at revision {report.revision}"
    print_result(result, text, as_json=json)


COMMAND = Command(snapshot)
