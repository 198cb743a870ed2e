"""`quarterdeck machines rollout undo`: back to an earlier revision."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.apis.hypervisor.fleet import Fleet, FleetRevision
    from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
    from quarterdeck.client.client import Client


async def undo(
    name: Annotated[str, Argument(metavar="FLEET", help="Name of the fleet.")],
    to_revision: Annotated[
        int,
        Option(
            "--to-revision",
            metavar="N",
            help="Revision to roll back to (default: the previous one).",
        ),
    ] = 0,
    shared: Annotated[
        bool, Option("--shared", help="Restore a template that others use as well.")
    ] = False,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Give a fleet the image and overrides of an earlier revision.

    A template that was edited since then gets its spec of that time back.
    """
    from quarterdeck.apis.hypervisor.fleet import Fleet

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        fleet = await client.get(Fleet, name, where)
        target = find_revision(fleet, to_revision)
        template = await _find_edited(client, fleet, target)
        if template is not None:
            if not shared:
                await _check_unshared(client, fleet, template)
            await client.update(template)
        await client.resource(Fleet.KIND.gvr).patch(
            name, build_patch(fleet, target), namespace=where
        )
    lines = [f"fleet {name} rolled back to revision {target.revision} ({target.image})"]
    if template is not None:
        lines.append(
            f"template {target.template} restored to its spec of revision {target.revision}"
        )
    result = {"fleet": name, "revision": target.revision, "image": target.image}
    result["template"] = target.template if template is not None else None
    print_result(result, "\n".join(lines), as_json=json)


COMMAND = Command(undo)


def find_revision(fleet: "Fleet", number: int) -> "FleetRevision":
    """The revision to go back to.

    Raises:
        CommandError: if there is none.
    """
    history = fleet.status.revisions
    others = [each for each in history if each.hash != fleet.status.update_revision]
    found = [each for each in others if not number or each.revision == number]
    if not found:
        known = ", ".join(str(each.revision) for each in others) or "none"
        what = f"revision {number} to go back to" if number else "earlier revision"
        raise CommandError(
            f"fleet {fleet.metadata.name} has no {what}; available: {known}", REFUSED
        )
    return found[-1]


def build_patch(fleet: "Fleet", target: "FleetRevision") -> dict[str, Any]:
    """What a fleet changes to have an earlier revision's image and overrides."""
    import msgspec

    overrides = msgspec.to_builtins(target.overrides) if target.overrides is not None else None
    patch: dict[str, Any] = {"image": target.image}
    if overrides is not None or (fleet.spec.template and fleet.spec.template.spec):
        patch["template"] = {"spec": overrides}
    return {"spec": patch}


async def _find_edited(
    client: "Client", fleet: "Fleet", target: "FleetRevision"
) -> "HypervisorMachineTemplate | None":
    """The template with its spec of that time; None if it still has it.

    Raises:
        CommandError: if its spec of that time is needed and not known.
    """
    import msgspec

    from quarterdeck.apis.hypervisor.template import (
        HypervisorMachineTemplate,
        HypervisorMachineTemplateSpec,
    )
    from quarterdeck.meta.objects import replace
    from quarterdeck.wire.status import NotFound

    now = fleet.status.revisions[-1]
    if not bytes(target.template_spec):
        if (target.image, target.overrides) != (now.image, now.overrides):
            return None
        raise CommandError(
            f"revision {target.revision} differs only in HypervisorMachineTemplate "
            f"{target.template}, whose earlier spec was not recorded: edit the template",
            REFUSED,
        )
    try:
        template = await client.get(
            HypervisorMachineTemplate, target.template, fleet.metadata.namespace
        )
    except NotFound:
        raise CommandError(
            f"HypervisorMachineTemplate {target.template} of revision {target.revision} was "
            "deleted: create it again",
            REFUSED,
        ) from None
    spec = msgspec.json.decode(target.template_spec, type=HypervisorMachineTemplateSpec)
    return replace(template, spec=spec) if spec != template.spec else None


async def _check_unshared(
    client: "Client", fleet: "Fleet", template: "HypervisorMachineTemplate"
) -> None:
    """Refuse to change a template under the feet of others.

    Raises:
        CommandError: naming them.
    """
    from quarterdeck.apis.hypervisor.fleet import Fleet
    from quarterdeck.apis.hypervisor.pool import RunnerPool

    name, where = template.metadata.name, template.metadata.namespace
    users = [
        f"fleet {each.metadata.name}"
        for each in await client.list(Fleet, where)
        if each.metadata.uid != fleet.metadata.uid
        and each.status.revisions
        and name in each.status.revisions[-1].template.split(",")
    ]
    users += [
        f"runner pool {each.metadata.name}"
        for each in await client.list(RunnerPool, where)
        if each.spec.template_ref.name == name
    ]
    if users:
        raise CommandError(
            f"HypervisorMachineTemplate {name} was edited since that revision and is also used "
            f"by {', '.join(users)}; restore it for all of them with --shared",
            REFUSED,
        )
