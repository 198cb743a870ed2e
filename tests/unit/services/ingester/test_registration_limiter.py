"""Streams that register: few at a time, of one peer and of all."""

import asyncio

from quarterdeck.services.ingester.registration_limiter import RegistrationLimiter


class Stream:
    """A stream that registers when it is told to."""

    def __init__(self, limiter: RegistrationLimiter, peer: str) -> None:
        self.is_inside = False
        self._done = asyncio.Event()
        self._task = asyncio.ensure_future(self._run(limiter, peer))

    async def _run(self, limiter: RegistrationLimiter, peer: str) -> None:
        async with limiter.acquire(peer):
            self.is_inside = True
            await self._done.wait()

    async def register(self) -> None:
        self._done.set()
        await self._task

    async def cancel(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_peer_waits_for_its_own_streams_and_not_for_those_of_others() -> None:
    limiter = RegistrationLimiter(per_peer=2, in_total=3)
    greedy = [Stream(limiter, f"ipv4:198.51.100.7:{port}") for port in range(4)]
    await settle()
    assert [each.is_inside for each in greedy] == [True, True, False, False]
    honest = Stream(limiter, "ipv6:[2001:db8::1]:5")
    await settle()
    assert honest.is_inside
    await honest.register()
    await greedy[0].register()
    await settle()
    assert greedy[2].is_inside
    for each in greedy[1:]:
        await each.cancel()
    assert (limiter.registering, len(limiter)) == (0, 0)


async def test_all_together_are_bounded() -> None:
    limiter = RegistrationLimiter(per_peer=2, in_total=3)
    streams = [Stream(limiter, f"ipv4:198.51.100.{host}:1") for host in range(4)]
    await settle()
    assert [each.is_inside for each in streams] == [True, True, True, False]
    await streams[1].register()
    await settle()
    assert streams[3].is_inside
    for each in streams:
        await each.register()
    assert len(limiter) == 0
