"""`quarterdeck hypervisor heal`: no failure rules any more."""

from typing import Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.hypervisor.controls import change_controls
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result


async def heal(
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Remove all failure rules."""

    def change(controls: dict[str, Any]) -> None:
        controls.pop("rules", None)

    await change_controls(change, namespace=namespace, kubeconfig=kubeconfig, context=context)
    print_result({"rules": []}, "all failure rules are removed", as_json=json)


COMMAND = Command(heal)
