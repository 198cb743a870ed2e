"""`quarterdeck access explain`: why may alice see this."""

import sys
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import FAILED, OK
from quarterdeck.cli.flags import Context, Json, Kubeconfig
from quarterdeck.cli.output import format_columns, print_result
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.inventory.access.explanation import Explanation


async def explain(
    user: Annotated[
        str,
        Argument(
            metavar="USER",
            help="User name, e-mail address or system:serviceaccount:NAMESPACE:NAME.",
        ),
    ],
    cluster: Annotated[str, Argument(metavar="CLUSTER", help="Name of a ClusterConnection.")],
    type: Annotated[
        str,
        Argument(
            metavar="TYPE", help="nodes, pods, ..., or the resourceTypeName of a MetricSource."
        ),
    ] = "",
    group: Annotated[
        list[str] | None,
        Option("--group", metavar="NAME", help="Group of the user; may be given several times."),
    ] = None,
    json: Json = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Show why a user may or may not see objects of a type on a cluster.

    Exits with 1 if they may not.
    """
    from quarterdeck.app.access import explain_access, find_unknown

    async with connect(kubeconfig, context) as client:
        found = await explain_access(client, user, cluster, type_=type, groups=tuple(group or ()))
        for each in await find_unknown(client, cluster, type):
            print(f"warning: {each}", file=sys.stderr)
    print_result(found, _format(found), as_json=json)
    return FAILED if found.decision == "deny" else OK


COMMAND = Command(explain)


def _format(found: "Explanation") -> str:
    what = f"{found.type} on {found.cluster}" if found.type else found.cluster
    lines = [f"{found.user} -> {what}: {found.decision}", f"  {found.reason}"]
    if found.permissions:
        lines.append(f"  permissions: {', '.join(found.permissions)}")
    if found.steps:
        head = ("", "POLICY", "NAMES", "PRIORITY", "EFFECT", "RESULT")
        rows = [
            (
                "*" if each.decides else "",
                each.policy,
                each.source,
                str(each.priority),
                each.effect,
                each.result,
            )
            for each in found.steps
        ]
        lines += ["", format_columns([head, *rows])]
    return "\n".join(lines)
