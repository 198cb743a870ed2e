"""`quarterdeck dev`: a user's own operator on an API server of its own, restarted on changes."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import port_option
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Argument, Option


async def dev(
    module: Annotated[
        str, Argument(metavar="MODULE", help="File or module of the operator, such as operator.py.")
    ],
    port: Annotated[int, port_option("--port", "Port of the API server, 0 for any free port.")] = 0,
    health_port: Annotated[
        int, port_option("--health-port", "Port of the operator's health page, 0 for any.")
    ] = 8081,
    kubeconfig: Annotated[
        str, Option("--kubeconfig-out", metavar="PATH", help="Where the kubeconfig is written.")
    ] = ".quarterdeck/dev.kubeconfig",
) -> None:
    """Run an operator while it is written: API server, definitions, webhooks, restart on change.

    Kinds, controllers and webhooks are found in the module; their CustomResourceDefinitions are
    applied at every start. The API server stores nothing on disk and simulates workloads.
    """
    from quarterdeck.app.dev import DevSettings, serve
    from quarterdeck.app.signals import StopSignal

    settings = DevSettings(
        target=module, port=port, health_port=health_port, kubeconfig=Path(kubeconfig)
    )
    async with StopSignal() as stop:
        await serve(settings, print_line=print_line, stop=stop)


COMMAND = Command(dev)
