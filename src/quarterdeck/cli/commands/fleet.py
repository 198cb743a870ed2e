"""`quarterdeck fleet`: the fleet server alone."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import port_option
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Option


def fleet(
    data_dir: Annotated[
        str,
        Option("--data-dir", metavar="DIR", help="Folder of pipelines, collectors and the token."),
    ] = ".quarterdeck",
    in_memory: Annotated[
        bool, Option("--in-memory", help="Store only the token in --data-dir.")
    ] = False,
    host: Annotated[
        str,
        Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; use a TLS proxy for addresses other than loopback.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, port_option("--port", "Port to listen on, 0 for any free port.")] = 8089,
) -> None:
    """Run a Fleet Management server for the pipelines operator and for collectors.

    A token that authenticates both is created in the data folder.
    """
    from quarterdeck.app.fleet import FleetSettings, serve_fleet

    settings = FleetSettings(data_dir=Path(data_dir), in_memory=in_memory, host=host, port=port)
    run_loop(serve_fleet(settings, print_line=print_line))


COMMAND = Command(fleet)
