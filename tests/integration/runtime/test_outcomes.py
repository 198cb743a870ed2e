"""How a reconcile ends when its status cannot be written, when others interfere, or when asked."""

import asyncio
import itertools
from typing import Any

import pytest
from widget_world import Widget, reason, world

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client.intercept import Call, Intercept
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import (
    Context,
    Controller,
    Finalizer,
    LeaderElection,
    RequeueAfter,
    Result,
    WaitFor,
    Waiting,
)
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.status import Conflict, Forbidden, NotFound, TooManyRequests


async def count_size(widget: Widget, ctx: Context[Widget]) -> None:
    ctx.status.set(seen=widget.spec.size)


def refuse(error: Exception) -> Intercept:
    """The first patch is refused."""

    async def replace(call: Call) -> bytes:
        raise error

    return Intercept("patch", replace, resource="widgets", times=1)


async def await_cancelled_task() -> None:
    shared = asyncio.ensure_future(asyncio.Event().wait())
    shared.cancel()
    await shared


async def test_a_status_that_cannot_be_written_is_an_error_and_is_tried_again() -> None:
    controller = Controller(reconcile=count_size, for_=Widget)
    async with world() as at:
        manager = at.manager(controller, [refuse(Forbidden("no status for you"))])
        async with manager.running():
            await at.create(size=3)
            await at.becomes(lambda w: w.status.seen == 3)
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_errors_total", "widget") == 1
            assert value("controller_runtime_reconcile_panics_total", "widget") == 0
            first = manager.journals[0].recent()[-1]
            assert first.detail == "Forbidden: no status for you"


async def test_both_a_failed_reconcile_and_its_failed_status_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = [RuntimeError("broken")]

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        if failures:
            raise failures.pop()

    controller = Controller(reconcile=reconcile, for_=Widget)
    async with world() as at:
        manager = at.manager(controller, [refuse(Forbidden("no status for you"))])
        async with manager.running():
            await at.create()
            await at.becomes(lambda w: reason(w) == "Reconciled")
            first = manager.journals[0].recent()[-1]
            assert first.detail == "ReconcileFailed: RuntimeError: broken"
    failed = [each.__dict__["fields"] for each in caplog.records if "failed" in each.getMessage()]
    assert [each["reason"] for each in failed] == ["ReconcileFailed", "Forbidden"]


async def test_a_reconcile_that_awaits_a_cancelled_task_has_failed_and_is_tried_again() -> None:
    cancelled: list[str] = []

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        if not cancelled:
            cancelled.append(widget.metadata.name)
            await await_cancelled_task()
        ctx.status.set(seen=widget.spec.size)

    controller = Controller(reconcile=reconcile, for_=Widget, workers=1)
    async with world() as at:
        manager = at.manager(controller)
        async with manager.running():
            await at.create(size=3)
            await at.becomes(lambda w: w.status.seen == 3)
            first = manager.journals[0].recent()[-1]
            assert first.detail == (
                "ReconcileFailed: RuntimeError: "
                "a task or future that was awaited has been cancelled"
            )


async def test_a_status_write_that_awaits_a_cancelled_task_has_failed_and_is_tried_again() -> None:
    async def replace(call: Call) -> bytes:
        await await_cancelled_task()
        return b""

    controller = Controller(reconcile=count_size, for_=Widget, workers=1)
    async with world() as at:
        fault = Intercept("patch", replace, resource="widgets", times=1)
        async with at.manager(controller, [fault]).running():
            await at.create(size=3)
            await at.becomes(lambda w: w.status.seen == 3)


async def test_a_clean_up_that_awaits_a_cancelled_task_has_failed_and_is_tried_again() -> None:
    called: list[Key] = []

    async def forget(key: Key) -> None:
        called.append(key)
        if len(called) == 1:
            await await_cancelled_task()

    controller = Controller(reconcile=count_size, for_=Widget, workers=1, on_deleted=forget)
    async with world() as at, at.manager(controller).running():
        await at.create(size=1)
        await at.becomes(lambda w: w.status.seen == 1)
        await at.client.delete(Widget, "a", "default")
        await eventually(lambda: len(called) == 2)


async def test_an_object_deleted_before_its_status_is_written_is_no_error() -> None:
    controller = Controller(reconcile=count_size, for_=Widget)
    async with world() as at:
        manager = at.manager(controller, [refuse(NotFound("gone"))])
        async with manager.running():
            await at.create(size=3)
            await eventually(lambda: manager.journals[0].recent() != [])
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_errors_total", "widget") == 0


async def test_a_conflict_changes_no_status_and_is_tried_again() -> None:
    conflicts = [Conflict("changed meanwhile")]
    seen: list[tuple[int, str]] = []

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        seen.append((ctx.attempt, reason(widget)))
        if conflicts:
            raise conflicts.pop()

    async with world() as at, at.manager(Controller(reconcile=reconcile, for_=Widget)).running():
        await at.create()
        await at.becomes(lambda w: reason(w) == "Reconciled")
        assert seen == [(0, ""), (1, "")]


async def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    overloads = [TooManyRequests("slow down", retry_after_s=7)]

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        if overloads:
            raise overloads.pop()

    clock = VirtualClock()
    async with world() as at:
        manager = at.manager(Controller(reconcile=reconcile, for_=Widget), clock=clock)
        async with manager.running():
            await at.create()
            await eventually(lambda: manager.journals[0].recent() != [])
            (record,) = manager.journals[0].recent()
            assert record.next_s == 7
            await clock.advance(7)
            await at.becomes(lambda w: reason(w) == "Reconciled")


async def test_a_discarded_draft_is_not_written() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        ctx.status.set(seen=5)
        ctx.status.discard()

    async with world() as at:
        manager = at.manager(Controller(reconcile=reconcile, for_=Widget))
        async with manager.running():
            await at.create()
            await eventually(lambda: manager.journals[0].recent() != [])
            value = manager.metrics.registry.get_value
            assert value("quarterdeck_writes_total", "widget") == 0


@pytest.mark.parametrize(
    ("result", "error"),
    [
        pytest.param(None, None, id="done"),
        pytest.param(RequeueAfter(3600), None, id="requeued"),
        pytest.param(WaitFor(Widget, Key("default", "other")), None, id="waiting for an object"),
        pytest.param(None, Waiting("Busy", after_s=3600), id="deferred"),
    ],
)
async def test_a_ready_condition_that_the_reconciler_has_set_is_kept(
    result: Result | None, error: Exception | None
) -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> Result | None:
        ctx.status.set_condition("Ready", FALSE, "Ours")
        if error is not None:
            raise error
        return result

    async with world() as at, at.manager(Controller(reconcile=reconcile, for_=Widget)).running():
        await at.create()
        await at.becomes(lambda w: reason(w) == "Ours")


async def test_on_error_adds_conditions_and_may_itself_fail() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        raise Waiting("Busy", after_s=3600)

    def describe(ctx: Context[Widget], error: Exception) -> None:
        if ctx.key.name == "b":
            raise RuntimeError("on_error is broken")
        ctx.status.set_condition("Blocked", TRUE, type(error).__name__)

    controller = Controller(
        reconcile=reconcile, for_=Widget, on_error=describe, conditions=["Blocked"]
    )
    async with world() as at, at.manager(controller).running():
        await at.create("a")
        await at.create("b")
        widget = await at.becomes(lambda w: reason(w) == "Busy", "a")
        assert reason(widget, "Blocked") == "Waiting"
        widget = await at.becomes(lambda w: reason(w) == "Busy", "b")
        assert reason(widget, "Blocked") == ""


async def test_a_clean_up_that_fails_is_tried_again_after_growing_delays() -> None:
    called: list[float] = []
    clock = VirtualClock()

    async def forget(key: Key) -> None:
        called.append(clock.monotonic())
        if len(called) <= 5:
            raise OSError("the file is busy")

    async def is_forgotten() -> bool:
        await clock.advance(0.005)
        return len(called) > 5

    async with world() as at:
        controller = Controller(reconcile=count_size, for_=Widget, on_deleted=forget)
        manager = at.manager(controller, clock=clock)
        async with manager.running():
            await at.create(size=1)
            await at.becomes(lambda w: w.status.seen == 1)
            await at.client.delete(Widget, "a", "default")
            await eventually(lambda: called)
            await eventually(is_forgotten)
            delays = [round(b - a, 3) for a, b in itertools.pairwise(called)]
            assert delays == [0.005, 0.01, 0.02, 0.04, 0.08]
            assert manager.next_work_s() is None


async def test_a_new_object_waits_until_the_state_of_its_predecessor_is_dropped() -> None:
    steps: list[str] = []
    may_forget = asyncio.Event()

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        steps.append(f"size {widget.spec.size}")
        ctx.status.set(seen=widget.spec.size)

    async def forget(key: Key) -> None:
        if len(steps) < 3:
            steps.append("failed")
            await may_forget.wait()
            raise OSError("the file is busy")
        steps.append("forgotten")

    async with world() as at:
        controller = Controller(reconcile=reconcile, for_=Widget, on_deleted=forget)
        async with at.manager(controller).running():
            await at.create(size=1)
            await at.becomes(lambda w: w.status.seen == 1)
            await at.client.delete(Widget, "a", "default")
            await eventually(lambda: "failed" in steps)
            await at.create(size=2)
            may_forget.set()
            await at.becomes(lambda w: w.status.seen == 2)
            assert steps == ["size 1", "failed", "failed", "forgotten", "size 2"]


async def test_objects_without_a_need_for_it_get_no_finalizer() -> None:
    async def clean_up(widget: Widget, ctx: Context[Widget]) -> None:
        """Nothing to do."""

    controller = Controller(
        reconcile=count_size,
        for_=Widget,
        finalizers=[Finalizer("example.com/x", clean_up)],
        needs_finalizers=lambda widget: widget.spec.size > 5,
    )
    async with world() as at, at.manager(controller).running():
        await at.create("small", size=1)
        await at.create("large", size=9)
        small = await at.becomes(lambda w: w.status.seen == 1, "small")
        large = await at.becomes(lambda w: w.status.seen == 9, "large")
        assert small.metadata.finalizers == ()
        assert large.metadata.finalizers == ("example.com/x",)


async def test_sources_and_resyncs_start_reconciles_without_events() -> None:
    clock, runs = VirtualClock(), asyncio.Queue[int]()
    outside = asyncio.Event()

    async def source(enqueue: Any) -> None:
        await outside.wait()
        enqueue(Key("default", "a"))
        await asyncio.Event().wait()

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        runs.put_nowait(widget.spec.size)

    controller = Controller(reconcile=reconcile, for_=Widget, sources=[source], resync_s=600)
    async with world() as at:
        manager = at.manager(controller, clock=clock)
        async with manager.running():
            await at.create()
            await runs.get()
            outside.set()
            await runs.get()
            await clock.advance(660)  # the period and its jitter
            await runs.get()
            await eventually(lambda: len(manager.journals[0].recent()) == 3)
            causes = [record.causes for record in manager.journals[0].recent()]
            assert [each for group in causes for each in group if isinstance(each, str)] == [
                "resync",
                "enqueued",
            ]


async def test_a_controller_added_while_the_manager_runs_starts_at_once() -> None:
    async with world() as at:
        manager = at.manager()
        async with manager.running():
            await at.create(size=4)
            manager.add(Controller(reconcile=count_size, for_=Widget))
            await at.becomes(lambda w: w.status.seen == 4)


async def test_indexes_of_a_declaration_are_kept() -> None:
    async def reconcile(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        found = await ctx.list(Widget, index=("size", config.data.get("size", "")))
        names.put_nowait([widget.metadata.name for widget in found])

    names = asyncio.Queue[list[str]]()
    controller = Controller(
        reconcile=reconcile,
        for_=ConfigMap,
        ready=None,
        predicates=[lambda event: event.key.name == "wanted"],
        indexes={Widget: {"size": lambda widget: [str(widget.spec.size)]}},
    )
    async with world() as at:
        await at.create("one", size=1)
        await at.create("two", size=2)
        async with at.manager(controller).running():
            metadata = ObjectMeta(name="wanted", namespace="default")
            await at.client.create(ConfigMap(metadata=metadata, data={"size": "2"}))
            assert await names.get() == ["two"]


async def test_a_key_that_waits_while_another_replica_leads_is_not_lost() -> None:
    """A leader that lost its lease begins nothing; what is queued runs when it leads again."""
    leads, runs = [False], asyncio.Queue[str]()

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        runs.put_nowait(widget.metadata.name)

    clock = VirtualClock()
    async with world() as at:
        election = LeaderElection("lock", "default")
        manager = at.manager(clock=clock, election=election)
        manager.add(Controller(reconcile=reconcile, for_=Widget))
        (runner,) = manager._runners
        runner._may_work = lambda: leads[0]
        async with manager.running():
            await at.create()
            await eventually(lambda: runner.queue.next_delay_s() == 1.0)
            assert runs.empty()
            leads[0] = True
            await clock.advance(1.0)
            assert await runs.get() == "a"
