"""`quarterdeck server verify`: check the database or a snapshot."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, CommandError
from quarterdeck.cli.flags import DataDir, Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument


def verify(
    file: Annotated[
        str, Argument(metavar="FILE", help="Snapshot to check (default: the database).")
    ] = "",
    data_dir: DataDir = ".quarterdeck",
    json: Json = False,
) -> None:
    """Check that every acknowledged write is in the database, undamaged; changes nothing.

    Exits with 1 if something is lost or damaged.
    """
    from quarterdeck.app import backup

    report = backup.verify(Path(data_dir), Path(file) if file else None)
    if report.problems:
        raise CommandError(f"acknowledged writes are lost or damaged: {report.problems}", FAILED)
    result = {"objects": report.objects, "revision": report.revision}
    text = f"{report.objects} objects at revision {report.revision}, all undamaged"
    print_result(result, text, as_json=json)


COMMAND = Command(verify)
