"""What the poll expects to see: one small entry per machine, kept by the reconciler.

A poll over ten thousand machines must cost next to nothing, so that it compares what the
hypervisor lists with what it listed before, and looks closer only at what differs.
"""

from collections.abc import Iterator
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.machine import Owner, VMInfo
from quarterdeck.operators.machines.machinespec import owner_of
from quarterdeck.operators.machines.plan.claim import Verdict, judge_vm


class Expected(NamedTuple):
    """What one machine should look like."""

    key: Key
    uid: str
    vmid: int
    cluster: str
    owner: Owner
    phase: str
    verdict: Verdict | None
    """None while the machine is being made or taken down: nothing is expected of it."""
    address: str = ""
    """The address in the status of its claim."""


class ExpectedMachines:
    """Machines by the UID of their claim."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Expected] = {}
        self._uids: dict[Key, str] = {}
        self._seen: dict[str, VMInfo] = {}

    def put(self, claim: MachineClaim) -> None:
        """Note what a claim's machine should look like."""
        ref, uid = claim.status.vm_ref, claim.metadata.uid
        self._seen.pop(uid, None)
        if ref is None:
            self._by_uid.pop(uid, None)
            return
        verdict = None
        if claim.status.phase == "Ready" and not claim.status.step and not claim.is_deleting:
            is_on = claim.spec.power_state == "On"
            verdict = Verdict.RUNNING if is_on else Verdict.STOPPED
        self._uids[claim.key] = uid
        phase, network = claim.status.phase or "Pending", claim.status.network_info
        self._by_uid[uid] = Expected(
            claim.key,
            uid,
            ref.vm_id,
            ref.hypervisor_cluster,
            owner_of(claim, ""),
            phase,
            verdict,
            address=network.ip_address if network is not None else "",
        )

    def drop(self, key: Key) -> None:
        """Forget a claim that is gone."""
        uid = self._uids.pop(key, "")
        self._by_uid.pop(uid, None)
        self._seen.pop(uid, None)

    def has_vm(self, uid: str, vmid: int) -> bool:
        """Whether a claim of that UID has the VM of that id."""
        expected = self._by_uid.get(uid)
        return expected is not None and expected.vmid == vmid

    def list_cluster(self, cluster: str) -> Iterator[Expected]:
        """The machines of a cluster."""
        return (each for each in self._by_uid.values() if each.cluster == cluster)

    def is_as_expected(self, expected: Expected, vm: VMInfo | None, operator_uid: str) -> bool:
        """Whether a machine looks as it should; what looked well before is not judged again."""
        if expected.verdict is None:
            return True
        if vm is not None and self._seen.get(expected.uid) == vm:
            return True
        owner = expected.owner._replace(operator_uid=operator_uid)
        is_well = judge_vm(vm, owner) is expected.verdict and not _has_moved(vm, expected)
        if is_well and vm is not None:
            self._seen[expected.uid] = vm
        return is_well


def _has_moved(vm: VMInfo | None, expected: Expected) -> bool:
    """Whether a VM has another address, such as a new lease after a restart."""
    return vm is not None and bool(vm.ips) and expected.address not in vm.ips
