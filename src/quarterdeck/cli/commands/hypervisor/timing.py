"""`quarterdeck hypervisor timing`: how long the simulator takes."""

from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.hypervisor.controls import change_controls
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Option


async def timing(
    scale: Annotated[
        str,
        Option(
            "--scale", metavar="FACTOR", help="Multiply all latencies by this factor, such as 0.1."
        ),
    ] = "",
    boot: Annotated[
        str,
        Option("--boot", metavar="FROM-TO", help="Boot time of machines in seconds, such as 1-3."),
    ] = "",
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Set how long tasks and boots of the simulator take."""
    from quarterdeck.operators.machines.drivers.simulator.controls import parse_settings
    from quarterdeck.operators.machines.drivers.simulator.settings import SimulatorSettings

    wanted: dict[str, Any] = {}
    try:
        if scale:
            wanted["scale"] = float(scale)
        if boot:
            low, _, high = boot.partition("-")
            wanted["boot_s"] = [float(low), float(high or low)]
    except ValueError as error:
        raise CommandError(f"invalid --scale or --boot: {error}", REFUSED) from error
    if not wanted:
        raise CommandError("no timing given: set --scale or --boot", REFUSED)

    def change(controls: dict[str, Any]) -> None:
        controls["timing"] = {**(controls.get("timing") or {}), **wanted}
        parse_settings(wanted, SimulatorSettings())

    await change_controls(change, namespace=namespace, kubeconfig=kubeconfig, context=context)
    print_result(
        wanted, ", ".join(f"{key} is {value}" for key, value in wanted.items()), as_json=json
    )


COMMAND = Command(timing)
