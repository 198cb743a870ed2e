"""Revisions of a fleet: which recipe machines have, and which ones there were. Pure."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from quarterdeck.apis.hypervisor.fleet import Fleet, FleetRevision, MachineOverrides
from quarterdeck.apis.hypervisor.names import IMAGE_LABEL, IMAGE_TAG_LABEL
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json
from quarterdeck.meta.markers import ABSENT

_DIGITS = 10
_LONGEST_SPEC = 16 * 1024


def overrides_of(fleet: Fleet) -> MachineOverrides | None:
    """What the fleet changes of its template."""
    return fleet.spec.template.spec if fleet.spec.template is not None else None


def hash_revision(fleet: Fleet, template: HypervisorMachineTemplate) -> str:
    """The digest of everything that makes a machine: template, image, overrides; not labels."""
    spec = msgspec.structs.replace(template.spec, metadata=None)
    content = msgspec.json.encode((spec, fleet.spec.image, overrides_of(fleet)))
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def record_template(template: HypervisorMachineTemplate) -> msgspec.Raw:
    """The spec of a template for the history; nothing of one that is too large for it."""
    content = json.encode(template.spec)
    return msgspec.Raw(content) if len(content) <= _LONGEST_SPEC else ABSENT


def resolve_image(
    image: str, templates: Iterable[HypervisorMachineTemplate]
) -> HypervisorMachineTemplate | str:
    """The template that an image stands for, or why there is none."""
    known = sorted(templates, key=lambda each: each.metadata.name)
    for each in known:
        if each.metadata.name == image:
            return each
    name, _, tag = image.partition(":")
    labelled = [
        each
        for each in known
        if each.metadata.labels.get(IMAGE_LABEL) == name
        and (not tag or each.metadata.labels.get(IMAGE_TAG_LABEL) == tag)
    ]
    if len(labelled) == 1:
        return labelled[0]
    if labelled:
        return f"{len(labelled)} templates have the labels of image {image!r}: make them differ"
    return (
        f"there is no HypervisorMachineTemplate {image!r}, and none with the labels "
        f"{IMAGE_LABEL}={name} and {IMAGE_TAG_LABEL}={tag or 'any'}"
    )


def remember_revision(
    history: Sequence[FleetRevision], newest: FleetRevision, *, used: frozenset[str], limit: int
) -> tuple[FleetRevision, ...]:
    """The history with the newest recipe at its end; one that comes back gets a new number.

    Recipes that machines still have are kept beyond the limit.
    """
    if history and history[-1].hash == newest.hash:
        return tuple(history)
    number = max((each.revision for each in history), default=0) + 1
    others = [each for each in history if each.hash != newest.hash]
    kept = others[max(0, len(others) - limit) :]
    kept += [each for each in others if each.hash in used and each not in kept]
    kept.sort(key=lambda each: each.revision)
    return (*kept, msgspec.structs.replace(newest, revision=number))
