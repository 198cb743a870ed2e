"""`quarterdeck server`: the API server alone, on this machine, and its database."""

from quarterdeck.cli.command import Command, StartTime
from quarterdeck.cli.commands.server.flags import ServerFlags
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import print_line

COMMANDS = {
    "snapshot": "Copy the database to a file, also while the server runs",
    "restore": "Replace the database by a snapshot",
    "verify": "Check that every acknowledged write is in the database",
    "compact": "Compact the history of a stopped server and free disk space",
}


def server(started: StartTime, flags: ServerFlags) -> None:
    """Run the API server alone, on loopback, until a signal."""
    from quarterdeck.kit.gc_tuning import pause_gc

    with pause_gc():
        from quarterdeck.app.api_server import serve
        from quarterdeck.cli.commands.server.options import build_settings

        run_loop(serve(build_settings(flags), print_line=print_line, started=started))


COMMAND = Command(server)
