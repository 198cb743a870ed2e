"""Finds new addresses of machines on hypervisors whose list of VMs does not show addresses.

A guest may get another lease without a restart. Proxmox VE has addresses only from the guest
agent of each VM, so VMs are read one by one, a few in each poll.
"""

from collections.abc import Callable, Sequence

from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.connection import Connection, View
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.expected_machines import Expected, has_moved
from quarterdeck.operators.machines.plan.claim import Verdict

BATCH = 20
"""How many VMs of a hypervisor are read in one poll."""
INTERVAL_S = 120.0
"""Shortest time between two reads of the same VM."""
_SINGLE_VM_CODES = (Code.NOT_FOUND, Code.LOCKED)
"""Failures of a single VM, which the reconcile of its claim handles."""


async def poll_addresses(
    connection: Connection,
    view: View,
    machines: Sequence[Expected],
    *,
    now: float,
    enqueue: Callable[[Key], None],
) -> None:
    """Enqueue the claims whose VM has another address than their status shows.

    The least recently read VMs are read first; `now` is a monotonic time.

    Raises:
        HypervisorError: if the hypervisor does not answer.
    """
    if any(vm.ips for vm in view.vms.values()):
        return  # the list shows addresses
    running = [each for each in machines if each.verdict is Verdict.RUNNING]
    before = connection.address_reads
    reads = {each.vmid: before.get(each.vmid, float("-inf")) for each in running}
    connection.address_reads = reads
    due = [each for each in running if now - reads[each.vmid] >= INTERVAL_S]
    for expected in sorted(due, key=lambda each: reads[each.vmid])[:BATCH]:
        reads[expected.vmid] = now
        if await _has_new_address(connection, expected):
            connection.moved.add(expected.vmid)
            enqueue(expected.key)


async def _has_new_address(connection: Connection, expected: Expected) -> bool:
    try:
        vm = await connection.call("get_vm", lambda each: each.get_vm(expected.vmid))
    except HypervisorError as error:
        if error.code in _SINGLE_VM_CODES:
            return False
        raise
    return has_moved(vm, expected)
