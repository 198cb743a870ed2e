"""The manager: starts and stops all parts of one operator process in order.

Start: health and metrics pages, webhooks, then caches, then what needs no leadership, then the
election, then the controllers. Caches fill while we wait for the lease, so a standby takes over
warm.
Stop: sources of work first, then reconciles under way, in a grace period, then events and caches,
then webhooks and pages, and the lease last, so that no successor starts while we still write.
A lost lease skips the grace periods: its new holder may be working already.
"""

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from quarterdeck.client.interfaces import HasApi
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.controller.environment import Environment
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.informer.informer import CacheScope
from quarterdeck.runtime.informer.watch_settings import WatchSettings
from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.manager import summary
from quarterdeck.runtime.manager.lifetime import cancel_on_failure, cancel_task, stop_on_signals
from quarterdeck.runtime.manager.runner_group import Runnable, RunnerGroup
from quarterdeck.runtime.observability import tracing
from quarterdeck.runtime.observability.logging import Logger, get_logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.observability.request_metrics import RequestMetrics
from quarterdeck.runtime.reconcile.journal import Journal
from quarterdeck.runtime.recorder.recorder import DiscardingRecorder, EventApi, EventRecorder

if TYPE_CHECKING:
    from quarterdeck.runtime.endpoints.health import Check
    from quarterdeck.runtime.endpoints.server import BindAddress, Endpoints, MetricsEndpoint
    from quarterdeck.runtime.leaderelection.elector import LeaderElector
    from quarterdeck.runtime.observability.watchdog import LoopWatchdog
    from quarterdeck.runtime.webhooks import Webhooks

_SLOW_CACHES_S = 10.0


class LeaderElection(msgspec.Struct, frozen=True):
    """Run only while holding this lease."""

    name: str
    namespace: str
    identity: str = ""
    """Default: host name and a random suffix."""
    timing: LeaseTiming = LeaseTiming()  # frozen
    release_on_exit: bool = True


class Manager:
    """Runs controllers against one API server."""

    def __init__(
        self,
        client: HasApi,
        *,
        name: str = "quarterdeck",
        namespaces: Iterable[str] = (),
        field_manager: str = "",
        service_name: str = "",
        election: LeaderElection | None = None,
        health: "BindAddress | None" = None,
        metrics: "MetricsEndpoint | None" = None,
        webhooks: "Webhooks | None" = None,
        events: EventApi | Literal["off"] = "v1",
        graceful_shutdown_timeout_s: float = 30.0,
        watch: WatchSettings | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        log: Logger | None = None,
        watch_loop: bool = False,
    ) -> None:
        """`namespaces` limits what is watched; `field_manager` is `name` unless given.

        `service_name` names the process in traces, unless OTEL_SERVICE_NAME does.

        `watch_loop` starts the event-loop watchdog, which needs a thread: programs want it,
        tests do not.
        """
        self.name = name
        self.api = client.raw
        self.clock = clock if clock is not None else SystemClock()
        self.random = rng if rng is not None else random.Random()
        self._log = log if log is not None else get_logger("runtime", manager=name)
        self._graceful_shutdown_timeout_s = graceful_shutdown_timeout_s
        self._field_manager = field_manager or name
        self.metrics = Metrics()
        self.informers = self._make_informers(tuple(namespaces), watch or WatchSettings())
        self.identity = f"{socket.gethostname()}_{self.random.getrandbits(64):016x}"
        self._events = self._make_recorder(events)
        self._election = self._make_election(election) if election is not None else None
        self._environment = self._make_environment(tracing.create_tracer(service_name or name))
        self._runners = RunnerGroup(self._log)
        self._live: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}
        self.webhooks = webhooks
        """Where webhooks are added; None without any."""
        self._endpoints = self._make_endpoints(health, metrics)
        self._stop = asyncio.Event()
        self._watchdog = self._make_watchdog() if watch_loop else None
        self._observe()

    # --- what to run

    def add(self, controller: Controller[Any]) -> None:
        """Add a controller; after the start it begins at once.

        Raises:
            ValueError: if another controller has its name.
        """
        self._runners.add(controller, self._environment)

    def add_runnable(
        self, name: str, run: Callable[[], Awaitable[None]], *, needs_leader_election: bool = True
    ) -> None:
        """Run a coroutine with the controllers; if it fails, the manager ends."""
        self._runners.add_runnable(Runnable(name, run, needs_leader_election))

    def set_cache_scope(self, kind: type[Object], scope: CacheScope) -> None:
        """Watch only some objects of a kind; call it before adding controllers."""
        self.informers.set_cache_scope(kind, scope)

    def add_healthz_check(self, name: str, check: Callable[[], str]) -> None:
        """Add a check to `/healthz`; it returns what is wrong, or an empty string."""
        self._live[name] = check

    def add_readyz_check(self, name: str, check: Callable[[], str]) -> None:
        """Add a check to `/readyz`."""
        self._ready[name] = check

    def enqueue(self, controller: str, key: Key) -> None:
        """Reconcile an object soon."""
        self._runners[controller].enqueue(key)

    @property
    def journals(self) -> list[Journal]:
        """What each controller did lately."""
        return [runner.journal for runner in self._runners]

    @property
    def controllers(self) -> list[Controller[Any]]:
        """What runs here."""
        return [runner.controller for runner in self._runners]

    @property
    def is_leader(self) -> bool:
        """Whether the controllers work here."""
        return self._election is None or self._election.is_leader

    def next_work_s(self) -> float | None:
        """Seconds until a controller works again: 0 while one does, None if nothing is planned.

        Reconciles that later events may start are not included. Tests use it to wait until idle.
        """
        return self._runners.next_work_s()

    def stop(self) -> None:
        """Ask `run` to end gracefully."""
        self._stop.set()

    # --- running

    async def run(self) -> None:
        """Run until `stop`, a signal, cancellation or a failure: the whole life of a program.

        Raises:
            LostLeadership: when the lease is lost; the process should exit.
        """
        with stop_on_signals(self.stop):
            async with self.running():
                tune_gc()
                await self._stop.wait()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Manager"]:
        """Run inside a block: entered when caches are filled, left gracefully.

        Raises:
            LostLeadership: inside the block, when the lease is lost.
        """
        async with contextlib.AsyncExitStack() as stack:
            if self._election is not None:
                stack.push_async_callback(self._election.release)  # the last thing to happen
            if self._endpoints is not None:
                stack.push_async_callback(self._endpoints.close)
                await self._endpoints.open(
                    self.api, clock=self.clock, rng=self.random, log=self._log
                )
            if self.webhooks is not None:
                stack.push_async_callback(self.webhooks.close)
                await self.webhooks.open(
                    self.metrics, clock=self.clock, log=self._log, api=self.api
                )
                await self.webhooks.register(self.api, self.name)
            caches = await stack.enter_async_context(Supervisor("caches"))
            self.informers.start(caches)
            if isinstance(self._events, EventRecorder):
                caches.spawn(self._events.run(), name="events")
                caches.spawn(self._events.run_series(), name="event-series")
                stack.push_async_callback(self._flush_events)
            if self._endpoints is not None:
                self._endpoints.start(caches)
            if self.webhooks is not None:
                self.webhooks.start(caches)
            if self._watchdog is not None:
                caches.spawn(self._watchdog.run(), name="loop-watchdog")
            others = await stack.enter_async_context(Supervisor("others"))
            working = Supervisor("working")
            lead = asyncio.ensure_future(self._run_leading(working))
            stack.push_async_callback(cancel_task, lead)  # after all that needs the lease
            await stack.enter_async_context(working)
            self._runners.start_runnables(others, needs_leader_election=False)
            try:
                async with cancel_on_failure(caches, others, working, lead):
                    await self._wait_caches()
                    if self._election is None:
                        await self._runners.elected.wait()
                    self._log.info("manager started", controllers=self._runners.names)
                    yield self
            finally:
                # without a lease there is none to lose
                lost = lead if self._election is not None else None
                await self._runners.drain(self._graceful_shutdown_timeout_s, lost)

    async def _wait_caches(self) -> None:
        """Wait for the first state of every cache; log which caches are late."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SLOW_CACHES_S):
                    await self.informers.wait_for_cache_sync()
                    return
            self._log.warning(
                "waiting for caches to sync", reason=summary.describe_stale_caches(self.informers)
            )

    async def _run_leading(self, working: Supervisor) -> None:
        """Wait for caches and the lease, start the controllers, and keep the lease."""
        await self.informers.wait_for_cache_sync()
        self._runners.start_followers(working)
        if self._election is not None:
            await self._election.acquire()
        self._runners.start_leaders(working)
        if self._election is not None:
            await self._election.renew()

    async def wait_elected(self) -> None:
        """Wait until the controllers work here."""
        await self._runners.elected.wait()

    async def _flush_events(self) -> None:
        if isinstance(self._events, EventRecorder):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(2.0, self._graceful_shutdown_timeout_s)):
                    await self._events.flush()

    # --- for people

    def state(self) -> dict[str, Any]:
        """The state of the caches and controllers."""
        found = summary.describe(self.informers, self._runners)
        return {"manager": self.name, "leader": self.is_leader, **found}

    @property
    def health_url(self) -> str:
        """Where the health page is; empty without one."""
        return self._endpoints.health_url if self._endpoints is not None else ""

    @property
    def metrics_url(self) -> str:
        """Where the metrics page is; empty without one."""
        return self._endpoints.metrics_url if self._endpoints is not None else ""

    # --- parts

    def _make_informers(
        self, namespaces: tuple[str, ...], settings: WatchSettings
    ) -> InformerFactory:
        return InformerFactory(
            self.api,
            clock=self.clock,
            rng=self.random,
            settings=settings,
            namespaces=namespaces,
            field_manager=self._field_manager,
            log=self._log,
        )

    def _make_environment(self, tracer: "tracing.Tracer | None") -> Environment:
        return Environment(
            self.api,
            self.informers,
            self._events,
            self.metrics,
            self.clock,
            self.random,
            self._log,
            self._field_manager,
            tracer,
            (lambda: self.is_leader) if self._election is not None else None,
        )

    def _describe_missing_foreign_kinds(self) -> str:
        return summary.describe_missing_foreign_kinds(self.informers, self.controllers)

    def _make_endpoints(
        self, health: "BindAddress | None", metrics: "MetricsEndpoint | None"
    ) -> "Endpoints | None":
        """The pages of health and metrics, with the checks of what this manager consists of."""
        if health is None and metrics is None:
            return None
        # only with a page
        from quarterdeck.runtime.endpoints.health import HealthEndpoints, ping
        from quarterdeck.runtime.endpoints.server import Endpoints

        self._live["ping"] = ping
        self._ready["caches"] = lambda: summary.describe_stale_caches(self.informers)
        self._ready["kinds"] = lambda: summary.describe_missing_kinds(
            self.informers, self.controllers
        )
        if self._election is not None:
            self._ready["leader-election"] = self._election.check
        if self.webhooks is not None:
            self._ready["webhooks"] = self.webhooks.check
        pages = HealthEndpoints(
            live=self._live,
            ready=self._ready,
            notes={"kinds": self._describe_missing_foreign_kinds},
            journals=lambda: self.journals,
            state=self.state,
        )
        return Endpoints(
            health=health, metrics=metrics, pages=pages, registry=self.metrics.registry
        )

    def _observe(self) -> None:
        """Count requests, trace them if enabled, and update the gauges when metrics are read."""
        self.api.observe(RequestMetrics(self.metrics))
        if self._environment.tracer is not None:
            self.api.observe(self._environment.tracer)
        self.metrics.registry.add_collector(
            lambda: summary.update_gauges(self.metrics, self.informers, self._runners)
        )

    def _make_recorder(
        self, events: EventApi | Literal["off"]
    ) -> EventRecorder | DiscardingRecorder:
        if events == "off":
            return DiscardingRecorder()
        return EventRecorder(
            self.api,
            component=self.name,
            instance=self.identity,
            clock=self.clock,
            rng=self.random,
            log=self._log,
            event_api=events,
        )

    def _make_watchdog(self) -> "LoopWatchdog":
        from quarterdeck.runtime.observability.watchdog import LoopWatchdog

        lag = self.metrics.loop_lag.labels()
        watchdog = LoopWatchdog(clock=self.clock, log=self._log, lag=lag)
        self._live["event-loop"] = watchdog.check
        return watchdog

    def _make_election(self, election: LeaderElection) -> "LeaderElector":
        from quarterdeck.runtime.leaderelection.elector import LeaderElector  # only with a lease

        gauge = self.metrics.leader.labels(election.name)
        slow_path = self.metrics.slow_path.labels(election.name)
        return LeaderElector(
            self.api,
            name=election.name,
            namespace=election.namespace,
            identity=election.identity or self.identity,
            clock=self.clock,
            rng=self.random,
            log=self._log,
            timing=election.timing,
            on_change=lambda leads: gauge.set(float(leads)),
            on_slow_path=slow_path.inc,
            release_on_exit=election.release_on_exit,
        )
