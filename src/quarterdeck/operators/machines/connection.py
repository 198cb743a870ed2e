"""One hypervisor as the operator uses it: calls are guarded, counted, traced and limited.

The breaker is shared by all machines of the hypervisor: when it stops answering, none of them keeps
calling it. Reads of the whole inventory are shared too: however many machines wait, one `list_vms`
serves them all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

from quarterdeck.kit.breaker import CircuitBreaker, CircuitOpen, State
from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.errors import (
    Code,
    ConfigurationError,
    HypervisorError,
    TransientError,
    make_error,
)
from quarterdeck.operators.machines.machine import Node, TemplateInfo, VMInfo
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.ports import Hypervisor
from quarterdeck.runtime.observability.tracing import span

R = TypeVar("R")
BREAKER_FAILURES = 5
BREAKER_RECOVERY_S = 30.0
CALL_TIMEOUT_S = 120.0
_NODES_MAX_AGE_S = 30.0
_BREAKER_CODES = (Code.UNAVAILABLE, Code.TIMEOUT, Code.RATE_LIMITED)
"""Failures of the hypervisor itself; they count towards opening the breaker."""


class View(NamedTuple):
    """All VMs of a hypervisor, read at one moment."""

    at: float
    """Monotonic time at which the read began."""
    vms: Mapping[int, VMInfo]


class Connection:
    """A hypervisor with everything that is shared between its machines."""

    def __init__(
        self,
        hypervisor: Hypervisor,
        *,
        cluster: str,
        clock: Clock,
        metrics: MachineMetrics,
        max_concurrent_operations: int = 2,
    ) -> None:
        self.hypervisor = hypervisor
        self.cluster = cluster
        self._clock = clock
        self._metrics = metrics
        self._breaker = CircuitBreaker(
            clock=clock, threshold=BREAKER_FAILURES, recovery_s=BREAKER_RECOVERY_S
        )
        self._limit = max_concurrent_operations
        self._nodes_busy: dict[str, asyncio.Semaphore] = {}
        self._view = View(float("-inf"), {})
        self._reading = asyncio.Lock()
        self._nodes: tuple[float, tuple[Node, ...]] = (float("-inf"), ())
        self._templates: dict[object, TemplateInfo] = {}
        self.foreign_vms = 0
        """Number of VMs of other owners in the last poll."""
        self.moved: set[int] = set()
        """Ids of VMs that were found with another address than their claim shows."""
        self.address_reads: dict[int, float] = {}
        """Monotonic time of the last read of each running VM's addresses, by VM id."""
        self.choosing = asyncio.Lock()
        """Held while node, id and address are chosen: claims must not share an id or address."""

    @property
    def is_open(self) -> bool:
        """Whether the breaker is open, so that calls fail at once."""
        return self._breaker.state is State.OPEN

    async def call(
        self, operation: str, work: Callable[[Hypervisor], Awaitable[R]], *, node: str = ""
    ) -> R:
        """Make one call; at most `max_concurrent_operations` with the same `node` run at once.

        Raises:
            HypervisorError: also when the breaker is open, as UNAVAILABLE with a time to retry.
        """
        if not node:
            return await self._guard(operation, work)
        limit = self._nodes_busy.setdefault(node, asyncio.Semaphore(self._limit))
        async with limit:
            return await self._guard(operation, work)

    async def _guard(self, operation: str, work: Callable[[Hypervisor], Awaitable[R]]) -> R:
        try:
            self._breaker.acquire()
        except CircuitOpen as error:
            raise make_error(
                Code.UNAVAILABLE,
                f"circuit breaker is open: hypervisor {self.cluster} failed repeatedly",
                operation=operation,
                retry_after_s=max(1.0, error.retry_after_s),
            ) from error
        started, is_counted = self._clock.monotonic(), False
        try:
            with span(f"hypervisor.{operation}", self._build_attributes(operation)):
                answer = await self._limit_time(operation, work)
            self._breaker.record_success()
            is_counted = True
            self._metrics.record_call(self.cluster, operation, self._clock.monotonic() - started)
            return answer
        except HypervisorError as error:
            is_counted = True
            self._update_breaker(error)
            took_s = self._clock.monotonic() - started
            self._metrics.record_failed_call(self.cluster, operation, error=error, took_s=took_s)
            raise
        finally:
            if not is_counted:
                self._breaker.release()
            self._metrics.set_breaker(self.cluster, is_open=self.is_open)

    def _build_attributes(self, operation: str) -> dict[str, str]:
        return {
            "hypervisor.cluster": self.cluster,
            "hypervisor.provider": self.hypervisor.name,
            "hypervisor.operation": operation,
        }

    async def _limit_time(self, operation: str, work: Callable[[Hypervisor], Awaitable[R]]) -> R:
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                return await work(self.hypervisor)
        except TimeoutError as error:
            text = f"no answer came within {CALL_TIMEOUT_S:.0f} s"
            raise make_error(Code.TIMEOUT, text, operation=operation) from error
        except OSError as error:
            raise make_error(Code.UNAVAILABLE, str(error), operation=operation) from error

    def _update_breaker(self, error: HypervisorError) -> None:
        is_failing = isinstance(error, TransientError) and error.code in _BREAKER_CODES
        if is_failing or (
            isinstance(error, ConfigurationError) and error.code is Code.UNAUTHORIZED
        ):
            self._breaker.record_failure()
        else:
            self._breaker.record_success()

    # --- reads that are shared

    async def get_view(self, *, max_age_s: float) -> View:
        """Every VM, from a read at most `max_age_s` old; concurrent calls share one read."""
        asked = self._clock.monotonic()
        if self._view.at >= asked - max_age_s:
            return self._view
        async with self._reading:
            if self._view.at >= asked - max_age_s:
                return self._view
            began = self._clock.monotonic()
            listed = await self.call("list_vms", lambda hypervisor: hypervisor.list_vms())
            self._view = View(began, {vm.id: vm for vm in listed})
            return self._view

    async def get_nodes(
        self, *, max_age_s: float = _NODES_MAX_AGE_S
    ) -> tuple[float, tuple[Node, ...]]:
        """Every node, and when they were read."""
        if self._nodes[0] < self._clock.monotonic() - max_age_s:
            began = self._clock.monotonic()
            listed = await self.call("list_nodes", lambda hypervisor: hypervisor.list_nodes())
            self._nodes = (began, tuple(listed))
        return self._nodes

    def cache_template(self, key: object, info: TemplateInfo) -> None:
        """Cache what the hypervisor reports of a template."""
        self._templates[key] = info

    def get_cached_template(self, key: object) -> TemplateInfo | None:
        """What was cached of a template; None if it was not read yet."""
        return self._templates.get(key)
