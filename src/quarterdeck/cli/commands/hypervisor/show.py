"""`quarterdeck hypervisor show`: the controls in force."""

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.hypervisor.controls import change_controls
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace


async def show(
    namespace: Namespace = "", kubeconfig: Kubeconfig = "", context: Context = ""
) -> None:
    """Show failure rules, timing and the last actions."""
    from quarterdeck.kit import yaml

    controls = await change_controls(
        lambda controls: None, namespace=namespace, kubeconfig=kubeconfig, context=context
    )
    print(yaml.dump(controls) if controls else "no controls are set", end="\n")


COMMAND = Command(show)
