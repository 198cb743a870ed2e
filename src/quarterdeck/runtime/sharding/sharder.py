"""Takes part in a sharded group: performs the decisions of `state` on Leases."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, Protocol

from quarterdeck.apis.coordination import Lease
from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Reader, Writer
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.tasks import Supervisor, fan_out
from quarterdeck.meta.objects import DecodeError, decode, encode
from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.sharding import leases
from quarterdeck.runtime.sharding.ownership import ShardLost
from quarterdeck.runtime.sharding.rendezvous import find_shard
from quarterdeck.runtime.sharding.state import Action, Claim, Release, ShardState
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    UpdateOptions,
)
from quarterdeck.wire.status import ApiError, Forbidden, NotFound

SHARDS = 64
"""The same in every replica of every version: it decides which shard an object belongs to."""
_FORGET_AFTER = 20.0
"""Lease times after which the Lease of a member that does not renew is deleted."""
_PARALLEL = 8
"""How many Leases are written at a time."""
_ERRORS = (ApiError, ClientError, OSError, TimeoutError, DecodeError)
"""What may fail; a proxy in front of an API server may answer with a page of its own."""


class ReaderWriter(Reader, Writer, Protocol):
    """The part of a client that sharding uses."""


class Group(NamedTuple):
    """Which replicas share, and where their Leases are."""

    name: str
    namespace: str
    timing: LeaseTiming = LeaseTiming()  # frozen
    shards: int = SHARDS


class Sharder:
    """One member of a group; implements `Ownership`."""

    def __init__(
        self,
        api: ReaderWriter,
        group: Group,
        *,
        identity: str,
        clock: Clock,
        rng: random.Random,
        log: Logger,
        on_change: Callable[[frozenset[int]], None] | None = None,
    ) -> None:
        """`on_change` is called with the shards that this member got or lost."""
        self._api = api
        self._group = group
        self._clock = clock
        self._random = rng
        self._log = log.bind(group=group.name, identity=identity)
        self._on_change = on_change
        self._state = ShardState(identity, group.shards, group.timing)
        self._member_name = leases.build_member_name(group.name, identity)
        self._guards: dict[asyncio.Timeout, int] = {}
        self._guard_left = asyncio.Event()
        """Set and replaced whenever a guarded block has ended."""
        self._renewed = asyncio.Event()
        self._told: frozenset[int] = frozenset()
        """The shards that we had when `on_change` was last called."""
        self._problem = ""

    # --- what controllers ask

    def owns(self, name: str) -> bool:
        """Whether this member may work on an object now."""
        return self._owns_shard(self.find_shard(name))

    def find_shard(self, name: str) -> int:
        """The shard of an object."""
        return find_shard(name, self._group.shards)

    @contextlib.asynccontextmanager
    async def guard(self, name: str) -> AsyncIterator[None]:
        """Cancel the block when the shard of an object is lost or must be released."""
        shard = self.find_shard(name)
        if not self._owns_shard(shard):
            raise ShardLost(f"the shard of {name} is held by another replica")
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._guards[scope] = shard
                yield
        except TimeoutError:
            if scope.expired():
                raise ShardLost(f"the shard of {name} moved to another replica") from None
            raise
        finally:
            self._guards.pop(scope, None)
            left, self._guard_left = self._guard_left, asyncio.Event()
            left.set()

    def check(self) -> str:
        """Why this member can hold no shard, and what to do; empty while all is well."""
        return self._problem

    def statistics(self) -> dict[str, int]:
        """How many shards are held, and how many members are alive."""
        now = self._clock.monotonic()
        held = sum(self._state.owns(each, now) for each in self._state.held)
        return {"shards": held, "members": len(self._state.find_live(now))}

    # --- running

    async def run(self) -> None:
        """Take part until cancelled, then release everything."""
        try:
            async with Supervisor("sharder") as tasks:
                tasks.spawn(self._watch_expiry(), name="shard-expiry")
                while True:
                    await self._take_part()
                    pause_s = self._group.timing.retry_period_s * self._random.uniform(0.8, 1.2)
                    await self._clock.sleep(pause_s)
        finally:
            await self._leave()

    async def _take_part(self) -> None:
        """Renew our Lease and rebalance once; failed requests are logged, not raised."""
        try:
            async with asyncio.timeout(self._group.timing.renew_deadline_s / 2):
                await self._renew()
            async with asyncio.timeout(self._group.timing.renew_deadline_s / 2):
                await self._rebalance()
            self._problem = ""
        except _ERRORS as error:
            self._note_problem(error)
        self._cancel_lost()
        self._tell()

    async def _renew(self) -> None:
        """Write our own Lease."""
        asked_at, group = self._clock.monotonic(), self._group
        path = self._build_path(self._member_name)
        try:
            lease = decode(Lease, await self._api.get(path, GetOptions()))
        except NotFound:
            lease = leases.build_lease(group.name, self._member_name, group.namespace)
        await self._write(lease, self._state.identity)
        self._report_lost(self._state.record_renewal(asked_at, self._clock.monotonic()))
        self._renewed.set()

    async def _rebalance(self) -> None:
        """Release shards that belong to another member, and claim free shards that belong to us."""
        found = await self._list()
        now, state = self._clock.monotonic(), self._state
        snapshot = leases.read_snapshot(found.values())
        state.observe(snapshot, now)

        async def perform(action: Action) -> None:
            name = leases.build_shard_name(self._group.name, action.shard)
            match action:
                case Release(shard):
                    await self._stop_work(shard)
                    await self._try_write(found[name], "")
                case Claim(shard):
                    lease = found.get(name) or self._build_shard_lease(name, shard)
                    if await self._try_write(lease, state.identity):
                        state.record_claim(shard)

        await fan_out(state.plan(snapshot, now), perform, limit=_PARALLEL)
        await self._delete_dead(found)

    def _build_shard_lease(self, name: str, shard: int) -> Lease:
        return leases.build_lease(self._group.name, name, self._group.namespace, shard=shard)

    async def _stop_work(self, shard: int) -> None:
        """Begin nothing more for a shard, cancel what runs, and wait until it has ended."""
        self._state.held.discard(shard)
        self._cancel_lost()
        while shard in self._guards.values():
            await self._guard_left.wait()

    async def _delete_dead(self, found: dict[str, Lease]) -> None:
        """Delete the Leases of members that have not renewed for a long time."""
        limit_s = self._group.timing.lease_duration_s * _FORGET_AFTER
        for identity in self._state.find_dead(self._clock.monotonic(), after_s=limit_s):
            name = leases.build_member_name(self._group.name, identity)
            if name in found:
                with contextlib.suppress(NotFound):
                    await self._api.delete(self._build_path(name), DeleteOptions())

    async def _watch_expiry(self) -> None:
        """Cancel running work at the moment our time runs out, whatever the network does."""
        while True:
            await self._renewed.wait()
            left_s = self._state.valid_until - self._clock.monotonic()
            if left_s > 0:
                await self._clock.sleep(left_s)
                continue
            self._renewed.clear()
            self._report_lost(self._state.drop_if_expired(self._clock.monotonic()))

    def _report_lost(self, lost: frozenset[int]) -> None:
        """Report shards that were dropped because our time ran out, before any is claimed again.

        Controllers have left objects to others in the meantime, and must be told of both.
        """
        if lost:
            self._log.warning(
                "lease not renewed in time; stopped work on its shards", shards=len(lost)
            )
            self._cancel_lost()
            self._tell()

    async def _leave(self) -> None:
        """Release every shard and our own Lease, so that others need not wait until they expire."""
        held, self._state.held = sorted(self._state.held), set()
        self._cancel_lost()
        try:
            async with asyncio.timeout(self._group.timing.renew_deadline_s):
                while self._guards:
                    await self._guard_left.wait()
                found = await self._list()
                for shard in held:
                    lease = found.get(leases.build_shard_name(self._group.name, shard))
                    if lease is not None and lease.spec.holder_identity == self._state.identity:
                        await self._try_write(lease, "")
                await self._api.delete(self._build_path(self._member_name), DeleteOptions())
        except _ERRORS as error:
            self._log.debug("cannot release shards; their leases expire", reason=str(error))

    # --- smaller things

    def _tell(self) -> None:
        """Report the shards that were got or lost since the last report, if any.

        Shards that were claimed after our time ran out do not count: the next renewal drops them.
        """
        held = frozenset(filter(self._owns_shard, self._state.held))
        changed, self._told = held ^ self._told, held
        if not changed:
            return
        counts = self.statistics()
        self._log.info("shards changed", shards=counts["shards"], members=counts["members"])
        if self._on_change is not None:
            self._on_change(changed)

    def _owns_shard(self, shard: int) -> bool:
        return self._state.owns(shard, self._clock.monotonic())

    def _cancel_lost(self) -> None:
        now = asyncio.get_running_loop().time()
        for scope, shard in list(self._guards.items()):
            if not self._owns_shard(shard) and not scope.expired():
                scope.reschedule(now)

    async def _list(self) -> dict[str, Lease]:
        """All Leases of the group by name, as one snapshot."""
        path = self._build_path("")
        found: dict[str, Lease] = {}
        page = await self._api.list(
            path, ListOptions(label_selector=f"{leases.GROUP}={self._group.name}")
        )
        for item in page.items:
            lease = decode(Lease, item)
            found[lease.metadata.name] = lease
        return found

    async def _try_write(self, lease: Lease, holder: str) -> bool:
        """Write a shard's Lease; False if another member was faster, or the write failed."""
        try:
            await self._write(lease, holder)
        except (ApiError, ClientError, OSError, DecodeError) as error:
            self._log.debug(
                "cannot write the lease of a shard", name=lease.metadata.name, reason=str(error)
            )
            return False
        return True

    async def _write(self, lease: Lease, holder: str) -> None:
        """Write a Lease; its answer is read, as that of a proxy does not mean that it is stored."""
        changed = leases.hold(
            lease, holder, duration_s=self._group.timing.lease_duration_s, now=self._clock.now()
        )
        if not lease.metadata.resource_version:
            path = self._build_path("")
            answer = await self._api.create(path, encode(changed), CreateOptions())
        else:
            path = self._build_path(lease.metadata.name)
            answer = await self._api.update(path, encode(changed), UpdateOptions())
        decode(Lease, answer)

    def _build_path(self, name: str) -> ResourcePath:
        namespace = self._group.namespace
        return ResourcePath("coordination.k8s.io", "v1", "leases", namespace, name)

    def _note_problem(self, error: Exception) -> None:
        """Log a refusal once: it lasts until permissions change."""
        if not isinstance(error, Forbidden):
            self._log.debug("cannot renew shards; trying again", reason=str(error))
            return
        problem = (
            "cannot divide clusters among replicas by leases in namespace "
            f"{self._group.namespace}: {error.message}; allow get, list, create, update and delete "
            "of leases.coordination.k8s.io there"
        )
        if problem != self._problem:
            self._log.error("leases refused by the API server; no shard is held", reason=problem)
        self._problem = problem
