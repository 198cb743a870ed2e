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
    """Orphans whose grace period is over; copies, which are released, have none."""
    foreign: int
    """Number of VMs of other owners."""
    first_seen: Mapping[int, float]
    """When each orphan was first seen, by VM id; an input of the next call."""


def find_orphans(
    vms: Iterable[VMInfo],
    *,
    operator_uid: str,
    find_vm: Callable[[str], int | None],
    first_seen: Mapping[int, float],
    now: float,
) -> Findings:
    """Find VMs without a claim; `find_vm` returns the id of the VM that a claim of that UID has.

    A second VM of one claim is an orphan too: left behind when an id was given up, or a copy.
    """
    orphans: list[Orphan] = []
    due: list[Orphan] = []
    foreign, seen = 0, {}
    for vm in vms:
        owner = ownership.read_owner(vm)
        if owner is None or owner.operator_uid != operator_uid:
            foreign += 1
            continue
        known = find_vm(owner.claim_uid)
        if known == vm.id:
            continue
        # a clone that was never configured has the tags of its template; a running VM with no
        # others was re-tagged
        inherited = {tag.lower() for tag in owner.inherited_tags}
        is_bare = vm.power is Power.STOPPED and {tag.lower() for tag in vm.tags} <= inherited
        owner = owner._replace(is_tagged=not is_bare)
        if not ownership.is_owned(vm, owner):
            foreign += 1
            continue
        orphan = Orphan(vm, owner)
        seen[vm.id] = first_seen.get(vm.id, now)
        orphans.append(orphan)
        if now - seen[vm.id] >= GRACE_S or (known is not None and is_copy(orphan)):
            due.append(orphan)
    return Findings(tuple(orphans), tuple(due), foreign, seen)


def is_copy(orphan: Orphan) -> bool:
    """Whether a second VM of a living claim was copied or restored by somebody else.

    We give up an id only before its VM is configured, so that our own second VMs have no tags of
    an owner.
    """
    return orphan.owner.is_tagged
