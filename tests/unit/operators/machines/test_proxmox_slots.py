"""Places for clones: never more than the limit, and every place comes back."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.operators.machines.drivers.proxmox.slots import Slots
from quarterdeck.operators.machines.errors import Code, TransientError, make_error

CLONES = st.lists(
    st.tuples(st.sampled_from(("a", "b", "c")), st.sampled_from(("x", "y")), st.integers(1, 9)),
    max_size=5,  # together they take less than anybody waits
)


class Hypervisor:
    """Tasks that run for some time, and whether they do."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.ends: dict[str, float] = {}
        self.forgotten: set[str] = set()

    async def is_running(self, task: str) -> bool:
        if task in self.forgotten:
            raise make_error(Code.TASK_UNKNOWN, "no such task")
        return self.clock.monotonic() < self.ends[task]


@given(CLONES, st.integers(1, 3))
def test_limits_hold_and_everybody_gets_a_turn(
    clones: list[tuple[str, str, int]], limit: int
) -> None:
    async def run() -> None:
        clock = VirtualClock()
        hypervisor = Hypervisor(clock)
        slots = Slots(limit, clock=clock, is_running=hypervisor.is_running)
        done = []

        async def clone(vmid: int, node: str, storage: str, takes_s: int) -> None:
            await slots.acquire(vmid, (f"node {node}", f"storage {storage}"))
            assert max(slots.statistics().values()) <= limit
            hypervisor.ends[str(vmid)] = clock.monotonic() + takes_s
            slots.record_task(vmid, str(vmid))
            done.append(vmid)

        async with asyncio.TaskGroup() as group:
            for vmid, wanted in enumerate(clones, 1):
                group.create_task(clone(vmid, *wanted))
            for _ in range(120):
                await clock.advance(0.5)
        assert sorted(done) == list(range(1, len(clones) + 1))

    asyncio.run(run())


async def test_a_full_node_holds_up_no_other() -> None:
    clock = VirtualClock()
    hypervisor = Hypervisor(clock)
    slots = Slots(1, clock=clock, is_running=hypervisor.is_running)
    await slots.acquire(1, ["node a"])
    hypervisor.ends["1"] = 1000.0
    slots.record_task(1, "1")
    waiting = asyncio.ensure_future(slots.acquire(2, ["node a"]))
    await settle()
    await slots.acquire(3, ["node b"])  # hangs, if the full node holds it up
    await clock.advance(100.0)
    with pytest.raises(TransientError) as caught:
        await waiting
    assert caught.value.code is Code.LOCKED
    assert caught.value.retry_after_s


@pytest.mark.parametrize("how", ["ended", "forgotten", "refused"])
async def test_slots_are_released_whatever_became_of_the_clone(how: str) -> None:
    clock = VirtualClock()
    hypervisor = Hypervisor(clock)
    slots = Slots(1, clock=clock, is_running=hypervisor.is_running)
    await slots.acquire(1, ["node a"])
    slots.record_task(1, "" if how == "refused" else "1")
    hypervisor.ends["1"] = 0.0
    if how == "forgotten":
        hypervisor.forgotten.add("1")
    await slots.acquire(2, ["node a"])
    assert slots.statistics() == {"node a": 1}
