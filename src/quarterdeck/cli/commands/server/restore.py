"""`quarterdeck server restore`: put a snapshot in the place of the database."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import DataDir, Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument


def restore(
    file: Annotated[str, Argument(metavar="FILE", help="Snapshot to restore.")],
    data_dir: DataDir = ".quarterdeck",
    json: Json = False,
) -> None:
    """Replace the database by a snapshot; the old one is kept, as state.db.replaced.

    The server must be stopped. Clients that watched before list again.
    """
    from quarterdeck.app import backup

    report = backup.restore(Path(data_dir), Path(file))
    kept = str(report.kept or "")
    result = {"objects": report.objects, "nextRevision": report.revision + 1, "replaced": kept}
    text = f"restored {report.objects} objects; the next revision is {report.revision + 1}"
    if kept:
        text += f"; the replaced database is kept as {kept}"
    print_result(result, text, as_json=json)


COMMAND = Command(restore)
