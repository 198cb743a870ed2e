"""`quarterdeck machines rollout status`: wait for a fleet."""

from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import FAILED, OK, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.apis.hypervisor.fleet import Fleet

_CHECK_INTERVAL_S = 0.5


async def status(
    name: Annotated[str, Argument(metavar="FLEET", help="Name of the fleet.")],
    timeout: Annotated[
        int, Option("--timeout", metavar="SECONDS", help="Seconds to wait; 0 for no limit.")
    ] = 0,
    no_wait: Annotated[bool, Option("--no-wait", help="Show the state and return.")] = False,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Wait until all machines of a fleet have the newest revision and are available."""
    from quarterdeck.apis.hypervisor.fleet import Fleet
    from quarterdeck.kit.clock import SystemClock

    clock, last = SystemClock(), ""
    deadline = clock.monotonic() + timeout if timeout else float("inf")
    async with connect(kubeconfig, context) as client:
        while True:
            fleet = await client.get(Fleet, name, namespace or client.namespace)
            line, is_done = describe(fleet)
            if line != last:
                print_line(_build_json_line(fleet, is_done=is_done) if json else line)
                last = line
            if is_done or no_wait:
                return OK if is_done else FAILED
            if clock.monotonic() >= deadline:
                raise CommandError(f"fleet {name} is not complete after {timeout} s")
            await clock.sleep(_CHECK_INTERVAL_S)


COMMAND = Command(status)


def _build_json_line(fleet: "Fleet", *, is_done: bool) -> str:
    from quarterdeck.kit import json

    status = fleet.status
    result = {
        "fleet": fleet.metadata.name,
        "replicas": fleet.spec.replicas,
        "updatedReplicas": status.updated_replicas,
        "availableReplicas": status.available_replicas,
        "revision": status.update_revision,
        "isComplete": is_done,
    }
    return json.encode(result).decode()


def describe(fleet: "Fleet") -> tuple[str, bool]:
    """One line about a fleet, and whether it is complete.

    Raises:
        CommandError: if the roll-out cannot go on by itself.
    """
    from quarterdeck.meta.conditions import find

    state, wanted = fleet.status, fleet.spec.replicas
    condition = find(state.conditions, "Progressing")
    name = fleet.metadata.name
    is_seen = state.observed_generation >= fleet.metadata.generation
    if is_seen and condition is not None and condition.status == "False":
        raise CommandError(f"fleet {name}: {condition.reason}: {condition.message}")
    is_done = is_seen and condition is not None and condition.reason == "UpdateComplete"
    if is_done:
        return f"fleet {name}: all {wanted} machines have revision {state.update_revision}", True
    line = (
        f"fleet {name}: {state.updated_replicas} of {wanted} machines are updated, "
        f"{state.available_replicas} are available"
    )
    return line + (" (paused)" if fleet.spec.paused else ""), False
