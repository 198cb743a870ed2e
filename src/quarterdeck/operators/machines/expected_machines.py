"""What the poll expects of each machine: one small entry, written by the reconciler.

A poll over ten thousand machines must be cheap, so it compares each listed VM with what was
listed before, and evaluates only those that differ.
"""

from collections.abc import Iterator
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.machine import Owner, VMInfo
from quarterdeck.operators.machines.machinespec import build_owner
from quarterdeck.operators.machines.plan.claim import Step, Verdict, assess_vm, next_step


class Expected(NamedTuple):
    """The expected state of one machine's VM."""

    key: Key
    uid: str
    vmid: int
    cluster: str
    owner: Owner
    phase: str
    verdict: Verdict | None
    """None while the machine is being made or removed: then no state is expected."""
    address: str = ""
    """The address in the status of its claim."""
    node: str = ""
    """The node in the status of its claim."""


class ExpectedMachines:
    """Expected states by the UID of the claim."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Expected] = {}
        self._uids: dict[Key, str] = {}
        self._seen: dict[str, VMInfo] = {}
        self._copies: dict[str, list[int]] = {}

    def put(self, claim: MachineClaim) -> None:
        """Record the expected state of a claim's machine."""
        ref, uid = claim.status.vm_ref, claim.metadata.uid
        self._seen.pop(uid, None)
        if ref is None:
            self._by_uid.pop(uid, None)
            return
        verdict = None
        if next_step(claim) is Step.WATCH and not claim.is_deleting:
            is_on = claim.spec.power_state == "On"
            verdict = Verdict.RUNNING if is_on else Verdict.STOPPED
        self._uids[claim.key] = uid
        phase, network = claim.status.phase or "Pending", claim.status.network_info
        self._by_uid[uid] = Expected(
            claim.key,
            uid,
            ref.vm_id,
            ref.hypervisor_cluster,
            build_owner(claim, ""),
            phase,
            verdict,
            address=network.ip_address if network is not None else "",
            node=ref.node,
        )

    def drop(self, key: Key) -> None:
        """Drop the entry of a deleted claim."""
        uid = self._uids.pop(key, "")
        self._by_uid.pop(uid, None)
        self._seen.pop(uid, None)
        self._copies.pop(uid, None)

    def find_vm(self, uid: str) -> int | None:
        """The id of the VM of the claim of that UID; None if no such claim with a VM is known."""
        expected = self._by_uid.get(uid)
        return expected.vmid if expected is not None else None

    def add_copy(self, uid: str, vmid: int) -> None:
        """Record a released copy of a claim's VM, for the next reconcile to report."""
        if uid in self._by_uid:
            self._copies.setdefault(uid, []).append(vmid)

    def take_copies(self, uid: str) -> list[int]:
        """Return and remove the ids of released copies of a claim's VM."""
        return self._copies.pop(uid, [])

    def list_cluster(self, cluster: str) -> Iterator[Expected]:
        """The machines of a cluster."""
        return (each for each in self._by_uid.values() if each.cluster == cluster)

    def is_as_expected(self, expected: Expected, vm: VMInfo | None, operator_uid: str) -> bool:
        """Whether a VM has its expected state; one that is unchanged is not evaluated again."""
        if expected.verdict is None:
            return True
        if vm is not None and self._seen.get(expected.uid) == vm:
            return True
        owner = expected.owner._replace(operator_uid=operator_uid)
        if vm is None or assess_vm(vm, owner) is not expected.verdict:
            return False
        if has_moved(vm, expected) or vm.node not in ("", expected.node):
            return False
        self._seen[expected.uid] = vm
        return True


def has_moved(vm: VMInfo | None, expected: Expected) -> bool:
    """Whether a VM reports addresses without the expected one, such as after a new lease."""
    return vm is not None and bool(vm.ips) and expected.address not in vm.ips
