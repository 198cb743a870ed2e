"""`quarterdeck version`: the version of this program, and of the server if one answers."""

from quarterdeck import __version__
from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.flags import Context, Kubeconfig, ReportForm, ReportOutput


async def version(
    output: ReportOutput = ReportForm.TABLE, kubeconfig: Kubeconfig = "", context: Context = ""
) -> None:
    """Show the version of this program and of the server it connects to."""
    from quarterdeck.cli.output import format_report
    from quarterdeck.client.errors import ClientError
    from quarterdeck.wire.status import ApiError

    server, problem = "", ""
    try:
        async with connect(kubeconfig, context) as client:
            server = str((await client.get_server_version()).get("gitVersion", ""))
    except (ClientError, ApiError, OSError) as error:
        problem = str(error)
    if output is not ReportForm.TABLE:
        print(format_report({"version": __version__, "server": server, "error": problem}, output))
    else:
        print(f"quarterdeck {__version__}")
        print(f"server      {server or f'none ({problem})'}")


COMMAND = Command(version, only_reads=True)
