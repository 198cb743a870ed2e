"""VMs of this operator that have no claim. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.machine import Owner, Power, VMInfo

GRACE_S = 600.0
"""How long a VM without a claim is kept: its claim may not be reconciled yet."""


class Orphan(NamedTuple):
    """A VM of ours without a claim."""

    vm: VMInfo
    owner: Owner


class Findings(NamedTuple):
    """The orphans and foreign VMs in a list of VMs."""

    orphans: tuple[Orphan, ...]
    """All orphans, also those in their grace period."""
    due: tuple[Orphan, ...]
    """Orphans whose grace period is over."""
    foreign: int
    """Number of VMs of other owners."""
    first_seen: Mapping[int, float]
    """When each orphan was first seen, by VM id; an input of the next call."""


def find_orphans(
    vms: Iterable[VMInfo],
    *,
    operator_uid: str,
    has_claim: Callable[[str, int], bool],
    first_seen: Mapping[int, float],
    now: float,
) -> Findings:
    """Find VMs without a claim; `has_claim`: whether a claim of that UID has the VM of that id.

    A second VM of one claim, left behind when an id was given up, is an orphan too.
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
