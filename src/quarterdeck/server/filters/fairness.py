"""Limits concurrent requests, in total and for each user.

A limited number of requests of one user run at once; further ones wait in a queue of that user, so
that a client with many requests delays only itself. Requests that do not fit into the queue get
429. Watches run for long and are not counted. The group `system:masters` is exempt, so that
administrators can always repair the cluster.
"""

import asyncio
import contextlib
from collections import deque
from typing import NamedTuple

from quarterdeck.kit.metrics import Registry
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.wire.status import TooManyRequests

_RETRY_AFTER_S = 1
_FLOW = ("global-default", "global-default")
"""The priority level and the flow schema of all requests."""


class FairnessLimits(NamedTuple):
    """The limits of concurrent requests."""

    total: int
    """Limit for all users together, including waiting requests."""
    per_user: int
    """Limit for one user, including waiting requests."""
    running_per_user: int
    """Limit for one user, without waiting requests."""


class FairnessStatistics(NamedTuple):
    """Numbers of running and waiting requests and of users, and of refusals since the start."""

    running: int
    waiting: int
    users: int
    refused_total: int


class _Flow:
    """The requests of one user."""

    __slots__ = ("running", "waiting")

    def __init__(self) -> None:
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    @property
    def size(self) -> int:
        return self.running + len(self.waiting)

    def start_next(self) -> None:
        """Start the request that has waited longest; cancelled ones are skipped."""
        while self.waiting:
            ticket = self.waiting.popleft()
            if not ticket.done():
                self.running += 1
                ticket.set_result(None)
                return


class _Turn:
    """Context manager of one request, which waits for its turn; `system:masters` do not wait.

    It is a class because a generator-based context manager costs as much as routing a request.
    """

    __slots__ = ("_fairness", "_flow", "_user")

    def __init__(self, fairness: "Fairness", user: User) -> None:
        self._fairness = fairness
        self._user = user
        self._flow: _Flow | None = None

    async def __aenter__(self) -> None:
        if MASTERS_GROUP not in self._user.groups:
            self._flow = await self._fairness.acquire(self._user)

    async def __aexit__(self, *_: object) -> None:
        if self._flow is not None:
            self._fairness.release(self._user, self._flow)


class Fairness:
    """Counts running requests, and queues those over the limit of their user."""

    def __init__(self, limits: FairnessLimits) -> None:
        self._limits = limits
        self._flows: dict[str, _Flow] = {}
        self._sum = 0
        self._refused = 0

    def admit(self, user: User) -> "_Turn":
        """Count a request while it waits and runs: `async with fairness.admit(user)`.

        Entering raises `TooManyRequests` if the user, or all users together, have too many.
        """
        return _Turn(self, user)

    async def acquire(self, user: User) -> _Flow:
        """Count a request, and wait for its turn; `release` must follow.

        Raises:
            TooManyRequests: if the user, or all users together, have too many.
        """
        flow = self._flows.get(user.name) or _Flow()
        if flow.size >= self._limits.per_user or self._sum >= self._limits.total:
            self._refused += 1
            raise TooManyRequests(
                "too many requests, please try again later", retry_after_s=_RETRY_AFTER_S
            )
        self._flows[user.name] = flow
        self._sum += 1
        if flow.running < self._limits.running_per_user:
            flow.running += 1
            return flow
        try:
            await self._wait(flow)
        except BaseException:
            self._remove_request(user, flow)
            raise
        return flow

    def release(self, user: User, flow: _Flow) -> None:
        """End a request: the next one of the user may run."""
        flow.running -= 1
        flow.start_next()
        self._remove_request(user, flow)

    def _remove_request(self, user: User, flow: _Flow) -> None:
        """Stop counting a request, and drop the flow of a user without further requests."""
        self._sum -= 1
        if not flow.size:
            self._flows.pop(user.name, None)

    async def _wait(self, flow: _Flow) -> None:
        """Wait for a turn; a request that is cancelled passes its turn to the next."""
        ticket = asyncio.get_running_loop().create_future()
        flow.waiting.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.cancelled():
                with contextlib.suppress(ValueError):  # skipped already by `start_next`
                    flow.waiting.remove(ticket)
            else:
                flow.running -= 1
                flow.start_next()
            raise

    def declare_metrics(self, registry: Registry) -> None:
        """Show what runs, waits and was refused, under the names of Kubernetes.

        All users share one flow there: names of users would make series without end.
        """
        level = ("priority_level", "flow_schema")
        running = registry.gauge(
            "apiserver_flowcontrol_current_executing_requests",
            "Requests that are being executed.",
            level,
        ).labels(*_FLOW)
        waiting = registry.gauge(
            "apiserver_flowcontrol_current_inqueue_requests",
            "Requests that wait in the queue of their user.",
            level,
        ).labels(*_FLOW)
        refused = registry.counter(
            "apiserver_flowcontrol_rejected_requests_total",
            "Requests rejected with status 429.",
            (*level, "reason"),
        ).labels(*_FLOW, "queue-full")

        def collect() -> None:
            statistics = self.statistics()
            running.value = statistics.running
            waiting.value = statistics.waiting
            refused.value = statistics.refused_total

        registry.add_collector(collect)

    def statistics(self) -> FairnessStatistics:
        """What runs and waits now, and what was refused since the start."""
        running = sum(flow.running for flow in self._flows.values())
        return FairnessStatistics(running, self._sum - running, len(self._flows), self._refused)
