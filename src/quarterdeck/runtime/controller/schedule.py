"""Outcome to next run: puts a key back into the queue as the outcome of its reconcile demands."""

from typing import assert_never

from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.queue.dispatcher import Dispatcher
from quarterdeck.runtime.queue.workqueue import QueueItem
from quarterdeck.runtime.reconcile.outcome import (
    AwaitingObject,
    Conflicted,
    Deferred,
    Failed,
    Outcome,
    Requeued,
    Retried,
    StalledOutcome,
    Succeeded,
    TimedOut,
)
from quarterdeck.runtime.reconcile.wait_list import WaitList


class Schedule:
    """The next runs of the keys of one controller."""

    def __init__(self, dispatcher: Dispatcher[Key], wait_list: WaitList, clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._queue = dispatcher.queue
        self._wait_list = wait_list
        self._clock = clock

    def forget(self, key: Key) -> None:
        """Drop the failures of a key and what it waits for."""
        self._queue.forget(key)
        self._wait_list.remove(key)

    def plan(self, item: QueueItem[Key], outcome: Outcome) -> float | None:
        """Put the key back if it has to run again; returns in how many seconds."""
        key = item.key
        self._wait_list.remove(key)
        match outcome:
            case Succeeded() | StalledOutcome():  # first, as checks that fail cost most
                self._queue.forget(key)
            case Conflicted() | TimedOut() | Failed():
                self._retry(item, outcome)
            case Requeued(after_s, priority):
                self._requeue(item, outcome, after_s, priority=priority)
            case Deferred(after_s=after_s):
                self._requeue(item, outcome, after_s)
            case AwaitingObject(wait):
                self._requeue(item, outcome, wait.timeout_s)
                self._wait_list.add(key, wait)
            case _:
                assert_never(outcome)
        due_at = self._queue.due_at(key)
        return None if due_at is None else max(0.0, due_at - self._clock.monotonic())

    def _requeue(
        self, item: QueueItem[Key], outcome: Outcome, after_s: float, *, priority: int | None = None
    ) -> None:
        self._queue.forget(item.key)
        self._dispatcher.add(
            item.key,
            after_s=after_s,
            priority=item.priority if priority is None else priority,
            cause=outcome.NAME,
        )

    def _retry(self, item: QueueItem[Key], outcome: Retried) -> None:
        key, priority = item.key, item.priority
        after_s = outcome.retry_after_s if isinstance(outcome, Failed) else None
        if after_s:  # the server asked for a longer delay than the limiter's
            self._queue.rate_limiter.when(key, self._clock.monotonic())
            self._dispatcher.add(key, after_s=after_s, priority=priority, cause="retry")
        else:
            self._dispatcher.add(key, rate_limited=True, priority=priority, cause="retry")
