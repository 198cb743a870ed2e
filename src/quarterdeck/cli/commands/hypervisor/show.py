"""`quarterdeck hypervisor show`: the controls in force."""

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.hypervisor.controls import change_controls
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result


async def show(
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show failure rules, timing and the last actions."""
    from quarterdeck.kit import yaml

    controls = await change_controls(
        lambda controls: None, namespace=namespace, kubeconfig=kubeconfig, context=context
    )
    text = yaml.dump(controls) if controls else "no controls are set"
    print_result(controls, text, as_json=json)


COMMAND = Command(show)
