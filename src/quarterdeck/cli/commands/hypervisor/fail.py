"""`quarterdeck hypervisor fail`: a failure rule."""

from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.hypervisor.controls import change_controls
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option


async def fail(
    operation: Annotated[
        str, Argument(metavar="OPERATION", help="Operation, such as clone_vm; * for all.")
    ],
    kind: Annotated[
        str,
        Option(
            "--kind",
            metavar="KIND",
            help=(
                "error, timeout, hang, partial, lost_response, stale_read, auth_expired or lock."
            ),
        ),
    ] = "error",
    times: Annotated[
        int,
        Option(
            "--times", metavar="N", help="Number of calls that fail; 0 for no limit.", minimum=0
        ),
    ] = 1,
    vm: Annotated[
        str, Option("--vm", metavar="NAME", help="Fail only VMs whose name contains this.")
    ] = "",
    node: Annotated[str, Option("--node", metavar="NAME", help="Fail only VMs on this node.")] = "",
    percent: Annotated[
        int,
        Option(
            "--percent", metavar="N", help="Percentage of calls that fail.", minimum=1, maximum=100
        ),
    ] = 100,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Inject failures into the next calls of an operation."""
    from quarterdeck.operators.machines.drivers.simulator.controls import parse_rules

    rule: dict[str, Any] = {"op": operation, "kind": kind, "times": times}
    rule |= {"name": vm} if vm else {}
    rule |= {"node": node} if node else {}
    rule |= {"probability": percent / 100} if percent < 100 else {}

    def change(controls: dict[str, Any]) -> None:
        controls["rules"] = [*(controls.get("rules") or []), rule]
        parse_rules(controls["rules"])

    await change_controls(change, namespace=namespace, kubeconfig=kubeconfig, context=context)
    print_result(rule, f"{operation} fails: {kind}", as_json=json)


COMMAND = Command(fail)
