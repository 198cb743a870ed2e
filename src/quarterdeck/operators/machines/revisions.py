"""Revisions of a fleet: hashes of what defines its machines, and their history. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from quarterdeck.apis.hypervisor.fleet import Fleet, FleetRevision, MachineOverrides
from quarterdeck.apis.hypervisor.names import IMAGE_LABEL, IMAGE_TAG_LABEL
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json
from quarterdeck.meta.markers import ABSENT

_DIGITS = 10
_LONGEST_SPEC = 16 * 1024


def get_overrides(fleet: Fleet) -> MachineOverrides | None:
    """Return the overrides of the template in the fleet's spec."""
    return fleet.spec.template.spec if fleet.spec.template is not None else None


def hash_revision(fleet: Fleet, templates: Sequence[HypervisorMachineTemplate]) -> str:
    """Hash everything that defines a machine: templates, image, overrides; not labels."""
    specs = [msgspec.structs.replace(each.spec, metadata=None) for each in templates]
    recipe = specs[0] if len(specs) == 1 else specs
    content = msgspec.json.encode((recipe, fleet.spec.image, get_overrides(fleet)))
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def record_template(templates: Sequence[HypervisorMachineTemplate]) -> msgspec.Raw:
    """The template's spec for the history; absent if there are several, or it is large."""
    content = json.encode(templates[0].spec) if len(templates) == 1 else b""
    return msgspec.Raw(content) if 0 < len(content) <= _LONGEST_SPEC else ABSENT


def resolve_image(
    fleet: Fleet, templates: Iterable[HypervisorMachineTemplate]
) -> tuple[HypervisorMachineTemplate, ...] | str:
    """Resolve a fleet's image to templates, one for each cluster, or return why it fails.

    Several are allowed only if the placement names clusters or spreads machines over them.
    """
    image, placement = fleet.spec.image, fleet.spec.placement
    clusters = placement.clusters if placement is not None else ()
    known = sorted(templates, key=lambda each: (get_cluster_name(each), each.metadata.name))
    found = [each for each in known if each.metadata.name == image] or _find_labeled(known, image)
    if not found:
        name, _, tag = image.partition(":")
        return (
            f"HypervisorMachineTemplate {image!r} not found, and none has the labels "
            f"{IMAGE_LABEL}={name} and {IMAGE_TAG_LABEL}={tag or 'any'}"
        )
    usable = [each for each in found if not clusters or get_cluster_name(each) in clusters]
    if not usable:
        return (
            f"image {image!r} has templates on {', '.join(map(get_cluster_name, found))}, and "
            f"spec.placement.clusters allows only {', '.join(clusters)}"
        )
    is_spread = bool(clusters) or (placement is not None and placement.spread == "cluster")
    if len({get_cluster_name(each) for each in usable}) < len(usable) or (
        len(usable) > 1 and not is_spread
    ):
        return f"{len(usable)} templates have the labels of image {image!r}: make them differ"
    return tuple(usable)


def _find_labeled(
    templates: Iterable[HypervisorMachineTemplate], image: str
) -> list[HypervisorMachineTemplate]:
    name, _, tag = image.partition(":")
    return [
        each
        for each in templates
        if each.metadata.labels.get(IMAGE_LABEL) == name
        and (not tag or each.metadata.labels.get(IMAGE_TAG_LABEL) == tag)
    ]


def get_cluster_name(template: HypervisorMachineTemplate) -> str:
    """Return the name of the cluster that a template is on."""
    return template.spec.hypervisor_cluster_ref.name


def choose_template(
    templates: Sequence[HypervisorMachineTemplate], counts: Mapping[str, int]
) -> HypervisorMachineTemplate:
    """Choose the template of the next machine: an available one, with the fewest machines."""
    return min(
        templates,
        key=lambda each: (not each.status.template_available, counts.get(each.metadata.name, 0)),
    )


def append_revision(
    history: Sequence[FleetRevision], newest: FleetRevision, *, used: frozenset[str], limit: int
) -> tuple[FleetRevision, ...]:
    """Append a revision to the history; an earlier one that returns gets a new number.

    Revisions that machines still have are kept beyond the limit.
    """
    if history and history[-1].hash == newest.hash:
        return tuple(history)
    number = max((each.revision for each in history), default=0) + 1
    others = [each for each in history if each.hash != newest.hash]
    kept = others[max(0, len(others) - limit) :]
    kept += [each for each in others if each.hash in used and each not in kept]
    kept.sort(key=lambda each: each.revision)
    return (*kept, msgspec.structs.replace(newest, revision=number))
