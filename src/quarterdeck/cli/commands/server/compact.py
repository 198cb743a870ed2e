"""`quarterdeck server compact`: drop the history of stored objects and give space back."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, CommandError
from quarterdeck.cli.flags import Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Option


def compact(
    data_dir: Annotated[
        str, Option("--data-dir", metavar="DIR", help="Folder of the data.")
    ] = ".quarterdeck",
    json: Json = False,
) -> None:
    """Drop the history of a stopped server, keep its objects, and give free space back.

    Clients that resume a watch afterwards begin with a new list, as after any compaction.
    """
    from quarterdeck.app.cluster import DATABASE
    from quarterdeck.storage.errors import OpenFailed
    from quarterdeck.storage.sqlite.maintenance import compact_file

    try:
        done = compact_file(Path(data_dir) / DATABASE)
    except OpenFailed as error:
        raise CommandError(str(error), FAILED) from error
    text = (
        f"compacted to revision {done.revision}: {done.rows_deleted} old versions deleted, "
        f"{done.bytes_before} bytes before, {done.bytes_after} after"
    )
    result = {
        "revision": done.revision,
        "rowsDeleted": done.rows_deleted,
        "bytesBefore": done.bytes_before,
        "bytesAfter": done.bytes_after,
    }
    print_result(result, text, as_json=json)


COMMAND = Command(compact)
