"""Leader election by a Lease: a pure state machine, and the I/O that performs its decisions.

The rule that makes clocks harmless: times in the record are never compared with ours. A candidate
only looks whether the record *changed*, and measures by its own clock how long it has not. That
tolerates any offset, and clock rates that differ by up to lease / renew deadline (1.5 by default).
There is no fencing: a process that was paused for longer than the rest of its lease can still
finish the request it had begun, which is why a lost lease ends the process at once.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

from quarterdeck.apis.coordination import Lease, LeaseSpec
from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Reader, Writer
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.objects import ObjectMeta, decode, encode, replace, with_metadata
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, GetOptions, UpdateOptions
from quarterdeck.wire.status import ApiError, NotFound

_JITTER = 1.2


class LeaseTiming(NamedTuple):
    """The three numbers of an election."""

    lease_s: float = 15.0
    """How long candidates wait after the last change before they take over."""
    renew_s: float = 10.0
    """How long a leader tries to renew before it gives up."""
    retry_s: float = 2.0
    """How often both try."""

    def check(self) -> None:
        """Raise ValueError unless lease > renew > 1.2 · retry > 0."""
        if not self.lease_s > self.renew_s > _JITTER * self.retry_s > 0:
            raise ValueError(
                "leader election needs lease_s > renew_s > 1.2 * retry_s > 0, "
                f"got {self.lease_s}, {self.renew_s}, {self.retry_s}"
            )


class LeaderElectionRecord(NamedTuple):
    """The content of a lease; times are strings, because no code computes with them."""

    holder: str
    duration_s: int
    acquired: str
    renewed: str
    transitions: int


class ElectionState:
    """The decisions of one candidate, pure."""

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        timing.check()
        if not identity:
            raise ValueError("leader election needs an identity that is not empty")
        self.identity = identity
        self.timing = timing
        self._seen: LeaderElectionRecord | None = None
        self._seen_at = float("-inf")
        self._renewed_at = float("-inf")
        self._is_leading = False

    def observe(self, record: LeaderElectionRecord, now: float) -> None:
        """Note a record that was read; only a change restarts the waiting time."""
        if record != self._seen:
            self._seen, self._seen_at = record, now

    def plan(
        self, record: LeaderElectionRecord | None, now: float, wall: datetime
    ) -> LeaderElectionRecord | None:
        """The record to write over the one that was read; None while another candidate leads."""
        stamp = rfc3339.format_micro(wall)
        length = max(1, round(self.timing.lease_s))
        if record is None:
            return LeaderElectionRecord(self.identity, length, stamp, stamp, 0)
        self.observe(record, now)
        if record.holder == self.identity:
            return record._replace(duration_s=length, renewed=stamp)
        if record.holder and now < self._seen_at + record.duration_s:
            return None
        return LeaderElectionRecord(self.identity, length, stamp, stamp, record.transitions + 1)

    def record_write(self, record: LeaderElectionRecord, asked_at: float) -> None:
        """Our record was stored, at `asked_at` (when the request began) or later."""
        self._seen, self._seen_at = record, asked_at
        self._renewed_at = asked_at
        self._is_leading = True

    def is_leading(self, now: float) -> bool:
        """Whether we may act as leader now."""
        return self._is_leading and now < self._renewed_at + self.timing.renew_s

    def resign(self) -> None:
        """Stop leading."""
        self._is_leading = False

    def build_release(
        self, record: LeaderElectionRecord, wall: datetime
    ) -> LeaderElectionRecord | None:
        """The record that frees the lease at once; None if another candidate holds it."""
        if record.holder != self.identity:
            return None
        stamp = rfc3339.format_micro(wall)
        return record._replace(holder="", duration_s=1, acquired=stamp, renewed=stamp)


class ReaderWriter(Reader, Writer, Protocol):
    """What an election asks of a client."""


class LostLeadership(Exception):
    """Raised when the lease could not be renewed in time: the process must end."""


class LeaderElector:
    """Takes part in the election for one lease."""

    def __init__(
        self,
        api: ReaderWriter,
        *,
        name: str,
        namespace: str,
        identity: str,
        clock: Clock,
        rng: random.Random,
        log: Logger,
        timing: LeaseTiming = LeaseTiming(),  # noqa: B008  # frozen
        on_change: Callable[[bool], None] | None = None,
        release_on_exit: bool = True,
    ) -> None:
        self._api = api
        self._path = ResourcePath("coordination.k8s.io", "v1", "leases", namespace, name)
        self._clock = clock
        self._random = rng
        self._log = log.bind(lease=f"{namespace}/{name}", identity=identity)
        self._state = ElectionState(identity, timing)
        self._timing = timing
        self._on_change = on_change
        self._release_on_exit = release_on_exit
        self._lease: Lease | None = None
        self.slow_paths = 0

    @property
    def is_leader(self) -> bool:
        """Whether we may act now."""
        return self._state.is_leading(self._clock.monotonic())

    async def acquire(self) -> None:
        """Wait until we lead."""
        while not await self._try_acquire_or_renew():
            jitter = self._random.uniform(1.0, 1.0 + _JITTER)
            await self._clock.sleep(self._timing.retry_s * jitter)
        self._log.info("became leader")
        self._notify(is_leading=True)

    async def renew(self) -> None:
        """Keep leading.

        Raises:
            LostLeadership: when no renewal succeeded within the deadline.
        """
        while True:
            await self._clock.sleep(self._timing.retry_s)
            if not await self._try_acquire_or_renew() and not self.is_leader:
                self._state.resign()
                self._notify(is_leading=False)
                raise LostLeadership(
                    f"lease {self._path.namespace}/{self._path.name} was not renewed within "
                    f"{self._timing.renew_s:g} s: another replica may lead now"
                )

    async def release(self) -> None:
        """Free the lease, so that a successor need not wait for it to lapse."""
        if self._lease is None or not self._release_on_exit:
            return
        self._state.resign()
        for _ in range(3):
            try:
                async with asyncio.timeout(self._timing.renew_s):
                    lease = await self._read()
                    record = self._state.build_release(parse_record(lease), self._clock.now())
                    if record is not None:
                        await self._write(lease, record)
                        self._log.info("released the lease")
                    break
            except (ApiError, ClientError, OSError, TimeoutError) as error:
                self._log.debug("cannot release the lease", reason=str(error))
        self._notify(is_leading=False)

    async def _try_acquire_or_renew(self) -> bool:
        """One attempt to acquire or renew; never raises for what the network does."""
        asked_at = self._clock.monotonic()
        try:
            async with asyncio.timeout(max(1.0, self._timing.renew_s / 2)):
                return await self._attempt(asked_at)
        except (ApiError, ClientError, OSError, TimeoutError) as error:
            self._lease = None  # our copy may be stale: read the lease before the next write
            self._log.debug("lease not acquired or renewed; trying again", reason=str(error))
            return False

    async def _attempt(self, asked_at: float) -> bool:
        lease = self._lease
        if lease is None or not self.is_leader:
            self.slow_paths += lease is None and self.is_leader
            try:
                lease = await self._read()
            except NotFound:
                lease = None
        elector = self._state
        record = elector.plan(
            parse_record(lease) if lease else None, self._clock.monotonic(), self._clock.now()
        )
        if record is None:
            elector.resign()
            return False
        self._lease = await self._write(lease, record)
        elector.record_write(record, asked_at)
        return True

    async def _read(self) -> Lease:
        return decode(Lease, await self._api.get(self._path, GetOptions()))

    async def _write(self, lease: Lease | None, record: LeaderElectionRecord) -> Lease:
        spec = LeaseSpec(
            holder_identity=record.holder,
            lease_duration_seconds=record.duration_s,
            acquire_time=record.acquired,
            renew_time=record.renewed,
            lease_transitions=record.transitions,
        )
        if lease is None:
            metadata = ObjectMeta(name=self._path.name, namespace=self._path.namespace)
            body = encode(Lease(metadata=metadata, spec=spec))
            path = self._path._replace(name="")
            return decode(Lease, await self._api.create(path, body, CreateOptions()))
        changed = with_metadata(replace(lease, spec=spec), managed_fields=())
        return decode(Lease, await self._api.update(self._path, encode(changed), UpdateOptions()))

    def _notify(self, *, is_leading: bool) -> None:
        if self._on_change is not None:
            self._on_change(is_leading)


def parse_record(lease: Lease) -> LeaderElectionRecord:
    """Parse a lease; missing fields are zero values, as in Go."""
    spec = lease.spec
    return LeaderElectionRecord(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time or "",
        spec.renew_time or "",
        spec.lease_transitions or 0,
    )
