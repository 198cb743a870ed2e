"""What has been given out on one hypervisor: ids, addresses, and room that it does not show yet.

Rebuilt from the claims when the operator starts, so that two machines never get the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.operators.machines.plan.placement import Request


class Entry(NamedTuple):
    """What one claim has."""

    vmid: int
    node: str
    fleet: str
    address: str
    request: Request
    seen_at: float | None
    """When the VM existed, on the scale of `monotonic`; None until then. A list of nodes that was
    read later counts the VM itself."""


class Allocations:
    """Entries by the UID of the claim."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._ids: Counter[int] = Counter()
        self._pending: set[str] = set()
        self._siblings: dict[str, Counter[str]] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def put(self, uid: str, entry: Entry) -> None:
        """Note what a claim has got."""
        self.drop(uid)
        self._entries[uid] = entry
        self._ids[entry.vmid] += 1
        self._siblings.setdefault(entry.fleet, Counter())[entry.node] += 1
        self._pending.add(uid)

    def drop(self, uid: str) -> None:
        """Give back what a claim had."""
        entry = self._entries.pop(uid, None)
        self._pending.discard(uid)
        if entry is None:
            return
        self._ids[entry.vmid] -= 1
        if self._ids[entry.vmid] <= 0:
            del self._ids[entry.vmid]
        self._siblings[entry.fleet][entry.node] -= 1

    def mark_seen(self, uid: str, at: float) -> None:
        """The VM of a claim exists since `at`."""
        entry = self._entries.get(uid)
        if entry is not None and entry.seen_at is None:
            self._entries[uid] = entry._replace(seen_at=at)

    @property
    def ids(self) -> frozenset[int]:
        """Every id that was given out."""
        return frozenset(self._ids)

    @property
    def addresses(self) -> frozenset[str]:
        """Every address that was given out."""
        return frozenset(each.address for each in self._entries.values() if each.address)

    def siblings(self, fleet: str) -> Mapping[str, int]:
        """Machines of a fleet by node."""
        return self._siblings.get(fleet, {})

    def reserved(self, nodes_read_at: float) -> dict[str, list[Request]]:
        """Room by node that a list of nodes, read at that time, does not show as taken."""
        found: dict[str, list[Request]] = {}
        for uid in list(self._pending):
            entry = self._entries[uid]
            if entry.seen_at is not None and entry.seen_at < nodes_read_at:
                self._pending.discard(uid)
                continue
            found.setdefault(entry.node, []).append(entry.request)
        return found

    def load(self, claims: Iterable[MachineClaim], cluster: str, request: Request) -> None:
        """Take over what claims have from before; `request` stands for what is not known."""
        for claim in claims:
            ref = claim.status.vm_ref
            if ref is None or ref.hypervisor_cluster != cluster or claim.metadata.uid in self:
                continue
            info = claim.status.network_info
            address = info.ip_address if info is not None else ""
            self.put(
                claim.metadata.uid,
                Entry(ref.vm_id, ref.node, fleet_of(claim), address, request, None),
            )


def fleet_of(claim: MachineClaim) -> str:
    """What a claim's siblings share: its fleet or pool; empty for one that stands alone."""
    ref = claim.spec.fleet_ref or claim.spec.runner_pool_ref
    return f"{claim.metadata.namespace}/{ref.name}" if ref is not None else ""
