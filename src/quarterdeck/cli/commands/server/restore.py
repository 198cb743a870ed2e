"""`quarterdeck server restore`: put a snapshot in the place of the database."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import DataDir
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Argument


def restore(
    file: Annotated[str, Argument(metavar="FILE", help="Snapshot to restore.")],
    data_dir: DataDir = ".quarterdeck",
) -> None:
    """Put a snapshot in the place of the database, which is kept as state.db.replaced.

    The server must be stopped. Clients that watched before list again.
    """
    from quarterdeck.app import backup

    report = backup.restore(Path(data_dir), Path(file))
    print_line(f"restored {report.objects} objects; the next revision is {report.revision + 1}")


COMMAND = Command(restore)
