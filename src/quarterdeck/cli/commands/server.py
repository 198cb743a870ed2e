"""`quarterdeck server`: the API server alone, on this machine."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command, StartTime
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import port_option
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Option

_DATA_DIR = ".quarterdeck"


def server(
    started: StartTime,
    data_dir: Annotated[
        str,
        Option("--data-dir", metavar="DIR", help=f"Folder of all data (default: {_DATA_DIR})."),
    ] = "",
    in_memory: Annotated[bool, Option("--in-memory", help="Store nothing on disk.")] = False,
    port: Annotated[int, port_option("--port", "HTTPS port, 0 for any free port.")] = 6443,
    http_port: Annotated[
        int | None,
        port_option(
            "--http-port",
            "Plain HTTP port on loopback, without authentication (default: off).",
        ),
    ] = None,
    write_kubeconfig: Annotated[
        str,
        Option(
            "--write-kubeconfig",
            metavar="PATH",
            help="Where to write the kubeconfig (default: in the data folder).",
        ),
    ] = "",
    simulate_workloads: Annotated[
        bool,
        Option("--simulate-workloads", help="Simulate kubelets: pods become ready by themselves."),
    ] = False,
    no_lifecycle: Annotated[
        bool,
        Option("--no-lifecycle", help="Disable garbage collection and namespace termination."),
    ] = False,
) -> None:
    """Run the API server alone, on loopback, until a signal."""
    from quarterdeck.app.api_server import ServeSettings, serve
    from quarterdeck.server.options import ServerOptions

    if data_dir and in_memory:
        raise CommandError("--data-dir and --in-memory exclude each other: give one", REFUSED)
    if simulate_workloads and no_lifecycle:
        raise CommandError(
            "--simulate-workloads and --no-lifecycle exclude each other: give one", REFUSED
        )
    settings = ServeSettings(
        data_dir=None if in_memory else Path(data_dir or _DATA_DIR),
        port=port,
        http_port=http_port,
        kubeconfig=Path(write_kubeconfig) if write_kubeconfig else None,
        options=ServerOptions(simulate_workloads=simulate_workloads, lifecycle=not no_lifecycle),
    )
    run_loop(serve(settings, print_line=print_line, started=started))


COMMAND = Command(server)
