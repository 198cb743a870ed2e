"""Streams that register: few at a time, of one peer and of all."""

import asyncio

from quarterdeck.services.ingester.entrance import Entrance


class Stream:
    """A stream that registers when it is told to."""

    def __init__(self, entrance: Entrance, peer: str) -> None:
        self.is_inside = False
        self._done = asyncio.Event()
        self._task = asyncio.ensure_future(self._run(entrance, peer))

    async def _run(self, entrance: Entrance, peer: str) -> None:
        async with entrance.enter(peer):
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
    entrance = Entrance(of_peer=2, of_all=3)
    greedy = [Stream(entrance, f"ipv4:198.51.100.7:{port}") for port in range(4)]
    await settle()
    assert [each.is_inside for each in greedy] == [True, True, False, False]
    honest = Stream(entrance, "ipv6:[2001:db8::1]:5")
    await settle()
    assert honest.is_inside
    await honest.register()
    await greedy[0].register()
    await settle()
    assert greedy[2].is_inside
    for each in greedy[1:]:
        await each.cancel()
    assert (entrance.inside, len(entrance)) == (0, 0)


async def test_all_together_are_bounded() -> None:
    entrance = Entrance(of_peer=2, of_all=3)
    streams = [Stream(entrance, f"ipv4:198.51.100.{host}:1") for host in range(4)]
    await settle()
    assert [each.is_inside for each in streams] == [True, True, True, False]
    await streams[1].register()
    await settle()
    assert streams[3].is_inside
    for each in streams:
        await each.register()
    assert len(entrance) == 0
