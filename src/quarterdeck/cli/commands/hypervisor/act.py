"""`quarterdeck hypervisor act`: change a simulated hypervisor without the operator."""

import secrets
from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.hypervisor.controls import change_controls
from quarterdeck.cli.commands.hypervisor.targets import NODE_ACTIONS, check_target
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option

_KEPT = 50


async def act(
    action: Annotated[
        str,
        Argument(
            metavar="ACTION",
            help=(
                "kill-node, revive-node, power-off, delete, rename, retag, partition, heal, "
                "rotate-credentials or forget-tasks."
            ),
        ),
    ],
    target: Annotated[str, Argument(metavar="TARGET", help="Node, or name or id of a VM.")] = "",
    value: Annotated[str, Option("--value", metavar="TEXT", help="New name, tags or token.")] = "",
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Do something to the simulated hypervisor that the operator does not know of."""
    from quarterdeck.operators.machines.drivers.simulator.controls import parse_actions

    entry = {"id": secrets.token_hex(4), "action": action, "value": value}
    entry["node" if action in NODE_ACTIONS else "vm"] = target

    def change(controls: dict[str, Any]) -> None:
        controls["actions"] = [*(controls.get("actions") or []), entry][-_KEPT:]
        parse_actions(controls["actions"])

    await check_target(action, target, kubeconfig=kubeconfig, context=context)
    await change_controls(change, namespace=namespace, kubeconfig=kubeconfig, context=context)
    print_result(entry, f"{action} {target}".rstrip(), as_json=json)


COMMAND = Command(act)
