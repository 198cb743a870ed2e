"""The elector on virtual time, with an API server that is slow, unreachable or loses answers."""

import itertools
import random
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.coordination import Lease
from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.objects import decode
from quarterdeck.runtime.leaderelection.elector import LeaderElector, LostLeadership
from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.wire.status import NotFound

NEVER = float("inf")


class Leases:
    """An API server with one lease."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.document: dict[str, Any] | None = None
        self.failures: deque[float] = deque()
        """Seconds after which the next requests fail."""
        self.is_answering = True
        self.is_gone = False
        """Whether the lease was deleted, and the next write of it meets that."""
        self.pages: deque[bytes] = deque()
        """What a proxy answers instead."""

    async def get(self, path: object, options: object = None) -> bytes:
        await self._fail_if_due()
        if self.document is None:
            raise NotFound.of("leases", "lock")
        return await self._answer()

    async def create(self, path: object, body: bytes, options: object = None) -> bytes:
        return await self.update(path, body)

    async def update(self, path: object, body: bytes, options: object = None) -> bytes:
        await self._fail_if_due()
        if self.document is None and self.is_gone:
            self.is_gone = False
            raise NotFound.of("leases", "lock")
        self.document = msgspec.json.decode(body)
        return await self._answer()

    async def _fail_if_due(self) -> None:
        if self.failures:
            await self.clock.sleep(self.failures.popleft())
            raise ConnectionFailed("connection refused")

    async def _answer(self) -> bytes:
        if not self.is_answering:
            await self.clock.sleep(NEVER)
        return self.pages.popleft() if self.pages else msgspec.json.encode(self.document)

    @property
    def holder(self) -> str:
        lease = decode(Lease, msgspec.json.encode(self.document))
        return lease.spec.holder_identity or ""


def make_elector(
    leases: Any, timing: LeaseTiming | None = None, *, identity: str = "ours"
) -> LeaderElector:
    return LeaderElector(
        leases,
        name="lock",
        namespace="default",
        identity=identity,
        clock=leases.clock,
        rng=random.Random(1),
        log=get_logger("test"),
        timing=timing or LeaseTiming(),
    )


TIMINGS = [
    pytest.param(LeaseTiming(), id="default"),
    pytest.param(LeaseTiming(15.0, 14.0, 10.0), id="long retry period"),
    pytest.param(LeaseTiming(4.0, 3.5, 1.0), id="short"),
]


@pytest.mark.parametrize("timing", TIMINGS)
async def test_a_leader_that_cannot_renew_ends_before_others_may_take_over(
    timing: LeaseTiming,
) -> None:
    delays: Sequence[float] = (0.0, 0.99, NEVER)
    for pattern in itertools.product(delays, repeat=4):
        clock = VirtualClock()
        leases = Leases(clock)
        elector = make_elector(leases, timing)
        await elector.acquire()
        leases.failures.extend([*pattern, *[NEVER] * 100])
        async with Supervisor() as tasks:
            renewing = tasks.spawn(_expect_loss(elector), name="renew")
            await clock.advance(timing.renew_deadline_s - 0.01)
            assert elector.is_leader
            assert not renewing.done()
            await clock.advance(timing.lease_duration_s - timing.renew_deadline_s)
            assert renewing.done(), f"still renewing after failures that took {pattern} s"


async def _expect_loss(elector: LeaderElector) -> None:
    with pytest.raises(LostLeadership):
        await elector.renew()


async def test_a_leader_survives_failures_that_end_before_its_deadline() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    elector = make_elector(leases)
    await elector.acquire()
    leases.failures.extend([NEVER, 0.5])  # the second attempt ends 9.5 s after the last renewal
    async with Supervisor() as tasks:
        renewing = tasks.spawn(elector.renew(), name="renew")
        await clock.advance(60)
        assert elector.is_leader
        assert not renewing.done()


@pytest.mark.parametrize("page", [b"<html>", b"[]", b'{"spec": 5}'])
async def test_a_page_of_a_proxy_is_a_failed_attempt(page: bytes) -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    elector = make_elector(leases)
    leases.pages.append(page)
    async with Supervisor() as tasks:
        acquiring = tasks.spawn(elector.acquire(), name="acquire")
        await clock.advance(10)
        assert acquiring.done()
        assert elector.is_leader
    leases.pages.append(page)
    async with Supervisor() as tasks:
        renewing = tasks.spawn(elector.renew(), name="renew")
        await clock.advance(30)
        assert elector.is_leader
        assert not renewing.done()
    leases.pages.append(page)
    await elector.release()
    assert leases.holder == ""


async def test_a_lease_deleted_while_we_lead_is_created_again_and_no_refusal() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    elector = make_elector(leases)
    await elector.acquire()
    leases.document, leases.is_gone = None, True
    async with Supervisor() as tasks:
        tasks.spawn(elector.renew(), name="renew")
        await clock.advance(2.1)
        assert not leases.is_gone
        assert elector.check() == ""
        await clock.advance(2.1)
        assert leases.holder == "ours"
        assert elector.is_leader


async def test_a_lease_is_released_although_the_last_renewal_failed() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    elector = make_elector(leases)
    await elector.acquire()
    leases.failures.append(0.0)
    async with Supervisor() as tasks:
        tasks.spawn(elector.renew(), name="renew")
        await clock.advance(2.5)
        assert not leases.failures
    assert elector.is_leader
    await elector.release()
    assert leases.holder == ""
    assert not elector.is_leader


async def test_a_lease_is_released_although_the_answer_that_granted_it_was_lost() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    elector = make_elector(leases)
    leases.is_answering = False
    async with Supervisor() as tasks:
        tasks.spawn(elector.acquire(), name="acquire")
        await clock.advance(1)
    assert leases.holder == "ours"
    leases.is_answering = True
    await elector.release()
    assert leases.holder == ""


async def test_a_release_takes_no_longer_than_a_renewal_may() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    elector = make_elector(leases)
    await elector.acquire()
    leases.failures.extend([NEVER] * 10)
    async with Supervisor() as tasks:
        releasing = tasks.spawn(elector.release(), name="release")
        await clock.advance(9.9)
        assert not releasing.done()
        await clock.advance(0.1)
        assert releasing.done()


async def test_a_candidate_that_never_led_releases_nothing() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    await make_elector(leases).acquire()
    follower = make_elector(leases, identity="theirs")
    async with Supervisor() as tasks:
        tasks.spawn(follower.acquire(), name="acquire")
        await clock.advance(1)
    leases.failures.append(0.0)
    await follower.release()
    assert leases.failures, "no request was sent"
    assert leases.holder == "ours"
