"""Takes part in a leader election: performs the decisions of `state` on a Lease."""

import random
from collections.abc import Callable
from typing import Protocol

from quarterdeck.apis.coordination import Lease, LeaseSpec
from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Reader, Writer
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.meta.objects import (
    DecodeError,
    ObjectMeta,
    decode,
    encode,
    replace,
    with_metadata,
)
from quarterdeck.runtime.leaderelection.state import (
    ElectionState,
    LeaderElectionRecord,
    parse_record,
)
from quarterdeck.runtime.leaderelection.timing import JITTER, LeaseTiming
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, GetOptions, UpdateOptions
from quarterdeck.wire.status import (
    ApiError,
    BadRequest,
    Forbidden,
    Invalid,
    NotFound,
    Unauthorized,
)

_REFUSALS = (BadRequest, Forbidden, Invalid, NotFound, Unauthorized)
"""Errors that a retry does not resolve."""
_ERRORS = (ApiError, ClientError, OSError, TimeoutError, DecodeError)
"""What may fail; a proxy in front of an API server may answer with a page of its own."""


class ReaderWriter(Reader, Writer, Protocol):
    """The part of a client that an election uses."""


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
        on_slow_path: Callable[[], None] | None = None,
        release_on_exit: bool = True,
    ) -> None:
        """`on_slow_path` is called when a leader must read the lease before it renews it."""
        self._api = api
        self._path = ResourcePath("coordination.k8s.io", "v1", "leases", namespace, name)
        self._clock = clock
        self._random = rng
        self._log = log.bind(lease=f"{namespace}/{name}", identity=identity)
        self._state = ElectionState(identity, timing)
        self._timing = timing
        self._on_change = on_change
        self._on_slow_path = on_slow_path
        self._release_on_exit = release_on_exit
        self._lease: Lease | None = None
        self._may_hold = False
        """Whether the lease may name us: set before the write, whose answer may be lost."""
        self._problem = ""

    @property
    def is_leader(self) -> bool:
        """Whether we may act now."""
        return self._state.is_leading(self._clock.monotonic())

    def check(self) -> str:
        """Why no replica can lead, and what to do; empty while we lead or wait for our turn."""
        return self._problem

    async def acquire(self) -> None:
        """Wait until we lead."""
        while not await self._try_acquire_or_renew():
            jitter = self._random.uniform(1.0, 1.0 + JITTER)
            await self._clock.sleep(self._timing.retry_period_s * jitter)
        self._log.info("became leader")
        self._notify(is_leading=True)

    async def renew(self) -> None:
        """Keep leading.

        Raises:
            LostLeadership: when no renewal succeeded within the deadline.
        """
        while True:
            left_s = self._state.valid_until - self._clock.monotonic()
            await self._clock.sleep(min(self._timing.retry_period_s, left_s))
            if not await self._try_acquire_or_renew() and not self.is_leader:
                self._state.resign()
                self._may_hold = False  # it expires soon, and the API server may be unreachable
                self._notify(is_leading=False)
                raise LostLeadership(
                    f"lease {self._path.namespace}/{self._path.name} was not renewed within "
                    f"{self._timing.renew_deadline_s:g} s: another replica may lead now"
                )

    async def release(self) -> None:
        """Free the lease, so that a successor need not wait for it to lapse."""
        if not self._may_hold or not self._release_on_exit:
            return
        self._state.resign()
        self._may_hold = False
        limit_s = self._timing.renew_deadline_s
        try:
            await run_within(self._clock, limit_s, self._free())
        except TimeoutError:
            self._log.debug("cannot release the lease", reason=f"no answer within {limit_s:g} s")
        self._notify(is_leading=False)

    async def _free(self) -> None:
        """Clear the holder of the lease, unless another candidate holds it."""
        for _ in range(3):
            try:
                lease = await self._read()
                record = self._state.build_release(parse_record(lease), self._clock.now())
                if record is not None:
                    await self._write(lease, record)
                    self._log.info("released the lease")
                return
            except _ERRORS as error:
                self._log.debug("cannot release the lease", reason=str(error))

    async def _try_acquire_or_renew(self) -> bool:
        """One attempt to acquire or renew; errors of the API server or the network return False."""
        asked_at = self._clock.monotonic()
        limit_s = self._state.compute_time_limit_s(asked_at)
        try:
            is_leading = await run_within(self._clock, limit_s, self._attempt(asked_at))
        except _ERRORS as error:
            self._lease = None  # our copy may be stale: read the lease before the next write
            self._record_failure(error)
            return False
        self._problem = ""
        return is_leading

    def _record_failure(self, error: Exception) -> None:
        """Log a refusal once, as it persists until permissions, names or flags change."""
        was_deleted = self.is_leader and isinstance(error, NotFound)
        if was_deleted or not isinstance(error, _REFUSALS):
            self._log.debug("cannot acquire or renew the lease; trying again", reason=str(error))
            return
        problem = self._describe_refusal(error)
        if problem != self._problem:
            self._log.error(
                "lease refused by the API server; controllers do not run until it is granted",
                reason=problem,
            )
        self._problem = problem

    def _describe_refusal(self, error: ApiError) -> str:
        namespace, name = self._path.namespace, self._path.name
        return (
            f"cannot acquire lease {namespace}/{name}: {error.code} {error.message}; allow get, "
            f"create and update of leases.coordination.k8s.io in namespace {namespace}, or set "
            "another namespace with --lease-namespace, or run one replica with --no-leader-elect"
        )

    async def _attempt(self, asked_at: float) -> bool:
        lease = self._lease
        if lease is None or not self.is_leader:
            if self.is_leader and self._on_slow_path is not None:
                self._on_slow_path()
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
            self._may_hold = False
            return False
        self._may_hold = True
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
