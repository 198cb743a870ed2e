"""Ids, addresses and capacity allocated on one hypervisor, also those it does not report yet.

Loaded from existing claims after a start, so that no id or address is allocated twice.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.operators.machines.plan.placement import Request


class Entry(NamedTuple):
    """The allocation of one claim."""

    vmid: int
    node: str
    fleet: str
    address: str
    request: Request
    seen_at: float | None
    """Monotonic time at which the VM was found to exist; None before. A list of nodes read after
    that time counts the VM itself."""


class Allocations:
    """Allocations of one hypervisor, by the UID of the claim."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._ids: Counter[int] = Counter()
        self._pending: set[str] = set()
        self._siblings: dict[str, Counter[str]] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def put(self, uid: str, entry: Entry) -> None:
        """Record the allocation of a claim, replacing an earlier one."""
        self.drop(uid)
        self._entries[uid] = entry
        self._ids[entry.vmid] += 1
        self._siblings.setdefault(entry.fleet, Counter())[entry.node] += 1
        self._pending.add(uid)

    def drop(self, uid: str) -> None:
        """Release the allocation of a claim, if it has one."""
        entry = self._entries.pop(uid, None)
        self._pending.discard(uid)
        if entry is None:
            return
        self._ids[entry.vmid] -= 1
        if self._ids[entry.vmid] <= 0:
            del self._ids[entry.vmid]
        self._siblings[entry.fleet][entry.node] -= 1

    def mark_seen(self, uid: str, at: float) -> None:
        """Record the monotonic time at which the VM of a claim was first found to exist."""
        entry = self._entries.get(uid)
        if entry is not None and entry.seen_at is None:
            self._entries[uid] = entry._replace(seen_at=at)

    @property
    def ids(self) -> frozenset[int]:
        """Every allocated VM id."""
        return frozenset(self._ids)

    @property
    def addresses(self) -> frozenset[str]:
        """Every allocated address."""
        return frozenset(each.address for each in self._entries.values() if each.address)

    def list_siblings(self, fleet: str) -> Mapping[str, int]:
        """The number of machines of a fleet on each node."""
        return self._siblings.get(fleet, {})

    def compute_reserved(self, nodes_read_at: float) -> dict[str, list[Request]]:
        """Requests by node that a list of nodes read at `nodes_read_at` does not count as used."""
        found: dict[str, list[Request]] = {}
        for uid in list(self._pending):
            entry = self._entries[uid]
            if entry.seen_at is not None and entry.seen_at < nodes_read_at:
                self._pending.discard(uid)
                continue
            found.setdefault(entry.node, []).append(entry.request)
        return found

    def load(self, claims: Iterable[MachineClaim], cluster: str, request: Request) -> None:
        """Load the allocations of existing claims; `request` is assumed for each of them."""
        for claim in claims:
            ref = claim.status.vm_ref
            if ref is None or ref.hypervisor_cluster != cluster or claim.metadata.uid in self:
                continue
            info = claim.status.network_info
            address = (info.static_address or info.ip_address) if info is not None else ""
            self.put(
                claim.metadata.uid,
                Entry(ref.vm_id, ref.node, get_fleet_key(claim), address, request, None),
            )


def get_fleet_key(claim: MachineClaim) -> str:
    """Return namespace and name of the fleet or pool of a claim; empty if it has neither."""
    ref = claim.spec.fleet_ref or claim.spec.runner_pool_ref
    return f"{claim.metadata.namespace}/{ref.name}" if ref is not None else ""
