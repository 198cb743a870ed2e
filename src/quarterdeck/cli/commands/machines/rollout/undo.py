"""`quarterdeck machines rollout undo`: back to an earlier revision."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.apis.hypervisor.fleet import Fleet, FleetRevision


async def undo(
    name: Annotated[str, Argument(metavar="FLEET", help="Name of the fleet.")],
    to_revision: Annotated[
        int,
        Option(
            "--to-revision", metavar="N", help="Revision to go back to (default: the one before)."
        ),
    ] = 0,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Give a fleet the image and overrides of an earlier revision."""
    import msgspec

    from quarterdeck.apis.hypervisor.fleet import Fleet

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        fleet = await client.get(Fleet, name, where)
        target = find_revision(fleet, to_revision)
        overrides = msgspec.to_builtins(target.overrides) if target.overrides is not None else None
        patch: dict[str, Any] = {"spec": {"image": target.image}}
        if overrides is not None or (fleet.spec.template and fleet.spec.template.spec):
            patch["spec"]["template"] = {"spec": overrides}
        await client.resource(Fleet.KIND.gvr).patch(name, patch, namespace=where)
    print(f"fleet {name} goes back to revision {target.revision} ({target.image})")


COMMAND = Command(undo)


def find_revision(fleet: "Fleet", number: int) -> "FleetRevision":
    """The revision to go back to.

    Raises:
        CommandError: if there is none, or it cannot be restored.
    """
    history = fleet.status.revisions
    others = [each for each in history if each.hash != fleet.status.update_revision]
    found = [each for each in others if not number or each.revision == number]
    if not found:
        known = ", ".join(str(each.revision) for each in others) or "none"
        raise CommandError(
            f"fleet {fleet.metadata.name} has no such earlier revision; there are: {known}", REFUSED
        )
    target, now = found[-1], history[-1]
    if (target.image, target.overrides) == (now.image, now.overrides):
        raise CommandError(
            f"revision {target.revision} differs only in HypervisorMachineTemplate "
            f"{target.template}: change the template back",
            REFUSED,
        )
    return target
