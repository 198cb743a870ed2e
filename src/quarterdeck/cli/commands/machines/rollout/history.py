"""`quarterdeck machines rollout history`: the revisions of a fleet."""

from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import format_columns, print_result
from quarterdeck.cli.parameters import Argument


async def history(
    name: Annotated[str, Argument(metavar="FLEET", help="Name of the fleet.")],
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show the revisions that a fleet has or had, the newest last."""
    from quarterdeck.apis.hypervisor.fleet import Fleet

    async with connect(kubeconfig, context) as client:
        fleet = await client.get(Fleet, name, namespace or client.namespace)
    rows = [["REVISION", "HASH", "IMAGE", "TEMPLATE", "CREATED"]]
    rows += [
        [str(each.revision), each.hash, each.image, each.template, each.created_at]
        for each in fleet.status.revisions
    ]
    result = [dict(zip(map(str.lower, rows[0]), row, strict=True)) for row in rows[1:]]
    print_result(result, format_columns(rows), as_json=json)


COMMAND = Command(history)
