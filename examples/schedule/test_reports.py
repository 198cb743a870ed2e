"""Hours of reports pass in a moment: the clock is simulated, the API server is real."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import Report, ReportSpec, controller, latest_time

from quarterdeck.apis.batch import Job
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.testing import World, simulate

CREATED = datetime(2026, 1, 1, 12, tzinfo=UTC)


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(1, 10_000), st.integers(0, 10**7))
def test_the_latest_time_is_due_and_the_next_is_not(minutes: int, passed_s: int) -> None:
    every, now = timedelta(minutes=minutes), CREATED + timedelta(seconds=passed_s)
    latest = latest_time(CREATED, every, now)
    assert latest <= now < latest + every


def test_one_job_a_time_also_over_crashes() -> None:
    async def scenario(world: World) -> None:
        metadata = ObjectMeta(name="often", namespace="default")
        spec = ReportSpec(every_minutes=10, keep=100)
        await world.client.create(Report(metadata=metadata, spec=spec))
        for _ in range(4):  # leaving the block ends the operator, as a crash does
            async with world.start(controller):
                await world.clock.sleep(30 * 60)
        assert len(await world.client.list(Job)) == 12

    simulate(scenario, seeds=range(2), definitions=[Report])


@pytest.mark.parametrize("keep", [0, 3])
def test_old_jobs_are_removed(keep: int) -> None:
    async def scenario(world: World) -> None:
        metadata = ObjectMeta(name="often", namespace="default")
        spec = ReportSpec(every_minutes=10, keep=keep)
        await world.client.create(Report(metadata=metadata, spec=spec))
        async with world.start(controller):
            await world.clock.sleep(62 * 60)
        assert len(await world.client.list(Job)) == keep

    simulate(scenario, seeds=range(2), definitions=[Report])
