"""VMs of ours that no claim wants. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.machine import Owner, Power, VMInfo

GRACE_S = 600.0
"""How long a VM without a claim is left alone: a claim may just not be known yet."""


class Orphan(NamedTuple):
    """A VM of ours without a claim."""

    vm: VMInfo
    owner: Owner


class Findings(NamedTuple):
    """What a list of VMs shows."""

    orphans: tuple[Orphan, ...]
    """All of them, also those within their grace."""
    due: tuple[Orphan, ...]
    """Those whose grace is over."""
    foreign: int
    """VMs of other owners."""
    first_seen: Mapping[int, float]
    """When each orphan was first seen, for the next time."""


def find_orphans(
    vms: Iterable[VMInfo],
    *,
    operator_uid: str,
    has_claim: Callable[[str, int], bool],
    first_seen: Mapping[int, float],
    now: float,
) -> Findings:
    """Sort out what belongs to nobody; `has_claim` knows which id each claim's VM has.

    A second VM of one claim, left behind when an id was given up, belongs to nobody either.
    """
    orphans, foreign, seen = [], 0, {}
    for vm in vms:
        owner = ownership.read_owner(vm)
        if owner is None or owner.operator_uid != operator_uid:
            foreign += 1
            continue
        if has_claim(owner.claim_uid, vm.id):
            continue
        # a clone that was never configured has the tags of its template; a running VM with no
        # others was re-tagged
        inherited = {tag.lower() for tag in owner.inherited_tags}
        is_bare = vm.power is Power.STOPPED and {tag.lower() for tag in vm.tags} <= inherited
        owner = owner._replace(is_tagged=not is_bare)
        if not ownership.is_owned(vm, owner):
            foreign += 1
            continue
        seen[vm.id] = first_seen.get(vm.id, now)
        orphans.append(Orphan(vm, owner))
    due = tuple(each for each in orphans if now - seen[each.vm.id] >= GRACE_S)
    return Findings(tuple(orphans), due, foreign, seen)
