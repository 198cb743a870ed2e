"""`quarterdeck version`: ours, and the server's where one answers."""

from quarterdeck import __version__
from quarterdeck.cli.command import Debug, call
from quarterdeck.cli.connection import Context, Kubeconfig, reach
from quarterdeck.cli.loop import OK, run_loop
from quarterdeck.cli.output import Form, Output, pretty
from quarterdeck.client.errors import ClientError
from quarterdeck.wire.status import ApiError


def run(arguments: list[str]) -> int:
    """Print versions."""
    return call("version", version, arguments)


def version(
    output: Output = Form.TABLE,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    debug: Debug = False,
) -> int:
    """Print the version of this program and of the server it would talk to."""

    async def main() -> str:
        async with reach(kubeconfig, context) as client:
            return str((await client.version()).get("gitVersion", ""))

    server, trouble = "", ""
    try:
        server = run_loop(main(), fast=False)
    except (ClientError, ApiError, OSError) as error:
        trouble = str(error)
    if output is Form.JSON:
        print(pretty({"version": __version__, "server": server, "trouble": trouble}))
    else:
        print(f"quarterdeck {__version__}")
        print(f"server      {server or f'none ({trouble})'}")
    return OK
