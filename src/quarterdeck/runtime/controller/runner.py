"""Runs one controller: events to queue, queue to workers, outcome to status and next run.

Workers are long-lived; no task is made per event. A failing reconciler affects only its own object:
every exception becomes an outcome, and only cancellation ends a worker.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from quarterdeck.kit.tasks import Supervisor, convert_cancellation
from quarterdeck.kit.time_limit import TimeLimit
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import DecodeError, Object
from quarterdeck.runtime.cache.event import Author
from quarterdeck.runtime.controller.attempt import AttemptRunner
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.controller.environment import Environment
from quarterdeck.runtime.controller.schedule import Schedule
from quarterdeck.runtime.controller.subscription import Subscription
from quarterdeck.runtime.observability.controller_metrics import ControllerMetrics
from quarterdeck.runtime.queue.dispatcher import Dispatcher
from quarterdeck.runtime.queue.workqueue import LOW_PRIORITY, QueueItem, WorkQueue
from quarterdeck.runtime.reconcile.client import ReconcileClient, Shared
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.runtime.reconcile.journal import Journal, Record
from quarterdeck.runtime.reconcile.outcome import (
    Outcome,
    StalledOutcome,
    TimedOut,
)
from quarterdeck.runtime.reconcile.wait_list import WaitList
from quarterdeck.runtime.sharding.ownership import Ownership, ShardLost

T = TypeVar("T", bound=Object)


class Runner(Generic[T]):
    """Runs one controller: its queue and its workers."""

    def __init__(self, controller: Controller[T], env: Environment) -> None:
        self.controller = controller
        self.name = controller.effective_name
        self._env = env
        self._clock = env.clock
        self._may_work = env.may_work if controller.needs_leader_election else None
        self._ownership = controller.ownership
        self._log = env.log.bind(controller=self.name)
        self._metrics = ControllerMetrics(env.metrics, self.name, workers=controller.workers)
        rate_limiter = controller.rate_limiter() if controller.rate_limiter is not None else None
        self.queue: WorkQueue[Key] = WorkQueue(
            env.clock,
            rate_limiter=rate_limiter,
            tenant=(lambda key: key.namespace) if controller.is_fair else None,
            observer=self._metrics.queue,
        )
        self._dispatcher: Dispatcher[Key] = Dispatcher(self.queue, env.clock)
        field_manager = controller.field_manager or env.field_manager
        self._shared = Shared(env.api, env.informers, field_manager, self._metrics)
        self._cache = env.informers.ensure(controller.for_).cache
        self._conditions = frozenset(
            (*([controller.ready] if controller.ready else ()), *controller.conditions)
        )
        self._attempts = AttemptRunner(
            controller, metrics=self._metrics, log=self._log, tracer=env.tracer
        )
        wait_list = WaitList(env.informers, self.enqueue, self._log)
        self._schedule = Schedule(self._dispatcher, wait_list, env.clock)
        self._uids: dict[Key, str] = {}
        self._undropped: set[Key] = set()
        """Keys whose `on_deleted` failed: it is called again."""
        self._stopping = False
        kind = controller.for_.KIND
        names = (kind.plural, *kind.short_names)
        self.journal = Journal(
            self.name,
            kind.kind,
            group=kind.group,
            other_names=names,
            is_namespaced=kind.is_namespaced,
        )

    # --- start and stop

    def attach(self) -> None:
        """Subscribe to the declared kinds: events fill the queue before the workers start."""
        Subscription(
            self.controller,
            self._env.informers,
            dispatcher=self._dispatcher,
            metrics=self._metrics,
            log=self._log,
        ).attach()

    def start(self, tasks: Supervisor) -> None:
        """Start the workers, which first process the keys that are queued already."""
        tasks.spawn(self._dispatcher.run(), name=f"{self.name}-delays")
        for number in range(self.controller.workers):
            tasks.spawn(self._work(), name=f"{self.name}-worker-{number}")
        for number, source in enumerate(self.controller.sources):
            tasks.spawn(self._run_source(source), name=f"{self.name}-source-{number}")
        if self.controller.resync_s is not None:
            tasks.spawn(self._resync(self.controller.resync_s), name=f"{self.name}-resync")

    def close(self) -> None:
        """Begin no more reconciles. Queued keys are not lost: the next start lists all objects."""
        self._stopping = True
        self._dispatcher.close()

    async def drain(self) -> None:
        """Wait, after `close`, until the reconciles under way have ended."""
        await self._dispatcher.wait_drained()

    def enqueue(self, key: Key, cause: object = "enqueued") -> None:
        """Reconcile an object soon, for a reason other than an event."""
        self._dispatcher.add(key, cause=cause)

    def next_work_s(self) -> float | None:
        """Seconds until the next planned reconcile: 0 if one is due or running, None if none is."""
        if len(self.queue) or self.queue.processing:
            return 0.0
        return self.queue.next_delay_s()

    def refresh_metrics(self) -> None:
        """Set the gauges that are computed when read."""
        now, processing = self._clock.monotonic(), self.queue.processing
        labels = (self.name, self.name)
        ages = [now - started for started in processing.values()]
        self._env.metrics.unfinished.labels(*labels).set(sum(ages))
        self._env.metrics.longest_running.labels(*labels).set(max(ages, default=0.0))
        self._metrics.active.set(len(processing))

    # --- sources

    async def _run_source(self, source: Callable[[Callable[[Key], None]], Any]) -> None:
        await source(self.enqueue)

    async def _resync(self, period_s: float) -> None:
        while True:
            await self._clock.sleep(period_s * self._env.rng.uniform(0.9, 1.1))
            for key in self._cache:
                self._dispatcher.add(key, priority=LOW_PRIORITY, cause="resync")

    # --- queue to reconcile

    async def _work(self) -> None:
        limit = TimeLimit(self.controller.reconcile_timeout_s)
        try:
            queue = self.queue
            while item := (queue.pop() if queue.ready else None) or await self._dispatcher.get():
                try:
                    if self._stopping:
                        continue
                    if self._may_work is not None and not self._may_work():
                        self._dispatcher.add(item.key, after_s=1.0, cause="not leading")
                    else:
                        await self._reconcile_key(item, limit)
                finally:
                    self._dispatcher.done(item.key)
        finally:
            limit.close()

    async def _reconcile_key(self, item: QueueItem[Key], limit: TimeLimit) -> None:
        key = item.key
        try:
            obj = self._cache.get(key)
        except DecodeError as error:
            self._report_unreadable(key, error)
            return
        if obj is None:
            await self._drop_state(item)
            return
        if self._ownership is not None and not self._ownership.owns(key.name):
            await self._leave_to_owner(item)
            return
        if self.controller.on_deleted is not None and not await self._replace_state(item, obj):
            return
        await self._reconcile_object(item, obj, limit)

    async def _reconcile_object(self, item: QueueItem[Key], obj: T, limit: TimeLimit) -> None:
        """Call the reconciler, plan what follows, and write it into the journal."""
        key, started = item.key, self._clock.monotonic()
        client = ReconcileClient(self._shared, Author(self.name, key))
        ctx = Context(
            obj,
            client=client,
            clock=self._clock,
            events=self._env.events,
            log=self._log,
            reconcile_id=self._env.rng.getrandbits(64).to_bytes(8).hex(),
            attempt=self.queue.rate_limiter.num_requeues(key),
            owned_conditions=self._conditions,
        )
        waited_s, ownership = item.waited_s, self._ownership
        try:
            if ownership is None:
                outcome = await self._attempts.run(ctx, limit, waited_s=waited_s)
            else:
                outcome = await self._attempt_owned(ownership, ctx, limit, waited_s=waited_s)
        except ShardLost:
            await self._leave_to_owner(item)
            return
        took_s = self._clock.monotonic() - started
        self._count(outcome, took_s)
        next_s = self._schedule.plan(item, outcome)
        self.journal.add(
            Record(
                ctx.reconcile_id,
                key,
                ctx.started,
                item.causes,
                item.waited_s,
                took_s,
                tuple(client.reads),
                tuple(client.writes),
                outcome.NAME,
                outcome.detail,
                next_s,
            )
        )

    def _report_unreadable(self, key: Key, error: DecodeError) -> None:
        """Log an object that does not fit its type; it is reconciled after its next change."""
        self._log.error(
            "cannot decode the object into its type; correct or delete it",
            object=str(key),
            detail=str(error),
        )

    async def _attempt_owned(
        self, ownership: Ownership, ctx: Context[T], limit: TimeLimit, *, waited_s: float
    ) -> Outcome:
        async with ownership.guard(ctx.key.name):
            return await self._attempts.run(ctx, limit, waited_s=waited_s)

    async def _leave_to_owner(self, item: QueueItem[Key]) -> None:
        """Drop the state kept for an object that another replica reconciles."""
        if item.key in self._uids:
            await self._drop_state(item)
        else:
            self._schedule.forget(item.key)

    async def _replace_state(self, item: QueueItem[Key], obj: T) -> bool:
        """Drop the state of an object that was replaced by another of its name; False if it failed.

        The new object waits until it has succeeded: its predecessor's state is not its own.
        """
        key, uid = item.key, obj.metadata.uid
        is_replaced = self._uids.get(key, uid) != uid or key in self._undropped
        if is_replaced and not await self._drop_state(item):
            return False
        self._uids[key] = uid
        return True

    async def _drop_state(self, item: QueueItem[Key]) -> bool:
        """Drop all state of an object that is gone; `on_deleted` is called until it succeeds."""
        key = item.key
        if key not in self._undropped:
            self._schedule.forget(key)
        if self.controller.on_deleted is not None:
            try:
                try:
                    await self.controller.on_deleted(key)
                except asyncio.CancelledError as error:
                    raise convert_cancellation(error) from error
            except Exception as error:
                self._undropped.add(key)
                self._log.error("on_deleted failed; trying again", error=error, object=str(key))
                self._dispatcher.add(key, rate_limited=True, cause="retry")
                return False
        if key in self._undropped:
            self._undropped.remove(key)
            self._schedule.forget(key)
        self._uids.pop(key, None)
        return True

    def _count(self, outcome: Outcome, took_s: float) -> None:
        metrics = self._metrics
        metrics.time.observe(took_s)
        metrics.results[outcome.RESULT].value += 1
        if outcome.RESULT == "error":
            metrics.errors.value += 1
            metrics.terminal_errors.value += isinstance(outcome, StalledOutcome)
            metrics.timeouts.value += isinstance(outcome, TimedOut)
