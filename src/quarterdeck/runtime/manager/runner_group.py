"""The controllers and coroutines of a manager: started together, drained together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec

from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.controller.environment import Environment
from quarterdeck.runtime.controller.runner import Runner
from quarterdeck.runtime.observability.logging import Logger


class Runnable(msgspec.Struct, frozen=True):
    """A coroutine that runs beside the controllers, until the manager stops."""

    name: str
    run: Callable[[], Awaitable[None]]
    needs_leader_election: bool = True


class RunnerGroup:
    """Controllers by name, and coroutines.

    Those that need no leader start when the caches are filled, the others when the lease is held.
    A controller added after that starts at once.
    """

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._runners: dict[str, Runner[Any]] = {}
        self._runnables: list[Runnable] = []
        self._working: Supervisor | None = None
        self.elected = asyncio.Event()
        """Set when the controllers that need a leader have started."""

    def __iter__(self) -> Iterator[Runner[Any]]:
        return iter(self._runners.values())

    def __getitem__(self, name: str) -> Runner[Any]:
        return self._runners[name]

    @property
    def names(self) -> list[str]:
        """The names of the controllers, sorted."""
        return sorted(self._runners)

    def add(self, controller: Controller[Any], environment: Environment) -> None:
        """Add a controller; after the start it begins at once.

        Raises:
            ValueError: if another controller has its name.
        """
        if controller.effective_name in self._runners:
            raise ValueError(
                f"controller name {controller.effective_name!r} is used twice:"
                " set `name` of one of them"
            )
        runner = Runner(controller, environment)
        self._runners[controller.effective_name] = runner
        runner.attach()
        if self._working is not None and (
            self.elected.is_set() or not controller.needs_leader_election
        ):
            runner.start(self._working)

    def add_runnable(self, runnable: Runnable) -> None:
        """Run a coroutine with the controllers."""
        self._runnables.append(runnable)

    def start_runnables(self, tasks: Supervisor, *, needs_leader_election: bool) -> None:
        """Start the coroutines that need a leader, or those that need none."""
        for runnable in self._runnables:
            if runnable.needs_leader_election is needs_leader_election:
                tasks.spawn(_await(runnable.run), name=runnable.name)

    def start_followers(self, working: Supervisor) -> None:
        """Start the controllers that need no leader."""
        self._working = working
        self._start_runners(working, needs_leader_election=False)

    def start_leaders(self, working: Supervisor) -> None:
        """Start the controllers and coroutines that need a leader."""
        self._start_runners(working, needs_leader_election=True)
        self.start_runnables(working, needs_leader_election=True)
        self.elected.set()

    def _start_runners(self, tasks: Supervisor, *, needs_leader_election: bool) -> None:
        for runner in self:
            if runner.controller.needs_leader_election is needs_leader_election:
                runner.start(tasks)

    def next_work_s(self) -> float | None:
        """Seconds until a controller works again: 0 while one does, None if nothing is planned."""
        planned = [runner.next_work_s() for runner in self]
        return min((each for each in planned if each is not None), default=None)

    async def drain(self, grace_s: float, lost: "asyncio.Future[None] | None") -> None:
        """Let reconciles under way finish within the grace period.

        `lost` ends the grace period early: when the lease is lost, its new holder may work already.
        """
        self._working = None
        async with Supervisor("drain") as tasks:
            draining = tasks.spawn(self._drain_runners(), name="drain")
            if lost is not None:
                lost.add_done_callback(lambda _: draining.cancel())
                if lost.done():
                    draining.cancel()
            await asyncio.wait({draining}, timeout=grace_s)
        busy = sum(len(runner.queue.processing) for runner in self)
        if busy:
            self._log.warning("reconciles cancelled after the grace period", count=busy)

    async def _drain_runners(self) -> None:
        for runner in self:
            runner.close()
        for runner in self:
            await runner.drain()


async def _await(run: Callable[[], Awaitable[None]]) -> None:
    await run()
