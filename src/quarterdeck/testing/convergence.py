"""Checks that an operator reaches the same state whatever fails on the way.

    await assert_converges(
        lambda: [controller], scenario, definitions=[Shelf], compare=[Shelf, ConfigMap]
    )

The scenario is what users do, against a fresh API server each time. First it runs undisturbed; then
once for each write the operator made, with the operator killed right behind that write and started
anew; then under random faults, by seeds. A reconciler that keeps in memory what belongs into
objects, or that cannot continue work half done, ends in another state; the error shows it.
"""

import asyncio
import contextlib
import difflib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import Object, get_raw
from quarterdeck.runtime import Controller, Manager, WatchSettings
from quarterdeck.testing import server_faults
from quarterdeck.testing.faulty_stream import close_connection
from quarterdeck.testing.poll import eventually
from quarterdeck.testing.server_faults import Answer, ServerFaults

Scenario = Callable[[Client], Awaitable[None]]
Controllers = Callable[[], Iterable[Controller[Any]]]
State = Mapping[str, Any]

_CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_OPERATOR, _RESTARTED_OPERATOR = "operator", "operator-restarted"
_IDLE_S = 0.15
_SOON_S = 2.0
_QUICK = WatchSettings(
    backoff_initial_s=0.02, backoff_cap_s=0.2, short_stream_s=0.0, absent_cap_s=0.2
)
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


class Convergence(NamedTuple):
    """The extent of a convergence check."""

    writes: int
    """How many writes the operator made undisturbed."""
    crashes: int
    seeds: int


async def assert_converges(
    controllers: Controllers,
    scenario: Scenario,
    *,
    compare: Sequence[type[Object]],
    definitions: Sequence[type[Object]] = (),
    ignore: Sequence[str] = (),
    crashes: int = 20,
    seeds: Iterable[int] = (1, 2),
    probability: float = 0.2,
    within_s: float = 240.0,
) -> Convergence:
    """Run the scenario with and without faults, and compare the objects of some kinds at the end.

    `controllers` makes them anew for each start, as a process does. At most `crashes` writes are
    tried, spread evenly. Identities, versions and times may differ, and what `ignore` names by
    paths such as `.status.address` (lists are looked through); everything else may not. One run
    of the scenario may take `within_s` seconds, which a loaded machine needs as well.

    Raises:
        AssertionError: naming the fault, the object and the difference.
    """
    experiment = _Experiment(
        controllers, scenario, compare, definitions, within_s, tuple(map(_parse_path, ignore))
    )
    without_faults = _Crash(None)
    wanted = await experiment.run(without_faults, without_faults.crashed)
    points = _choose_crash_points(without_faults.writes, crashes)
    for point in points:
        crash = _Crash(point)
        found = await experiment.run(crash, crash.crashed)
        _compare_states(
            wanted, found, f"after a crash behind write {point} of {without_faults.writes}"
        )
    tried = tuple(seeds)
    for seed in tried:
        rules = ServerFaults(server_faults.chaos(seed, probability), agent=_OPERATOR)
        found = await experiment.run(rules, asyncio.Event(), on_scenario_end=rules.clear)
        _compare_states(wanted, found, f"after chaos with seed {seed}")
    return Convergence(without_faults.writes, len(points), len(tried))


def _choose_crash_points(writes: int, limit: int) -> list[int]:
    if writes <= limit:
        return list(range(1, writes + 1))
    return sorted({1 + round(index * (writes - 1) / (limit - 1)) for index in range(limit)})


class _Crash:
    """Lets the operator's n-th write succeed, and disconnects it before the answer."""

    def __init__(self, after: int | None) -> None:
        self._after = after
        self.writes = 0
        self.crashed = asyncio.Event()

    def __call__(self, handler: http.Handler) -> http.Handler:
        async def handle(request: http.Request) -> Answer:
            if request.headers.get("user-agent") != _OPERATOR:
                return await handler(request)
            if self.crashed.is_set():
                close_connection()
            reply = await handler(request)
            if request.method in _WRITES:
                self.writes += 1
                if self.writes == self._after:
                    self.crashed.set()
                    close_connection()
            return reply

        return handle


class _Experiment(NamedTuple):
    controllers: Controllers
    scenario: Scenario
    compare: Sequence[type[Object]]
    definitions: Sequence[type[Object]]
    within_s: float
    ignore: tuple[tuple[str, ...], ...] = ()

    async def run(
        self,
        faults: Callable[[http.Handler], http.Handler],
        crashed: asyncio.Event,
        *,
        on_scenario_end: Callable[[], None] = lambda: None,
    ) -> State:
        """One server, one run of the scenario; the state of the kinds at its end."""
        async with Cluster(faults=faults) as cluster, asyncio.timeout(self.within_s):
            await self._create_definitions(cluster.client)
            async with asyncio.TaskGroup() as group:
                acting = group.create_task(
                    _run_scenario(self.scenario, cluster.client), name="scenario"
                )
                acting.add_done_callback(lambda _: on_scenario_end())
                async with self._run_operator(cluster, _OPERATOR) as manager:
                    await _wait_until_idle(cluster, manager, acting, crashed)
                if crashed.is_set():
                    async with self._run_operator(cluster, _RESTARTED_OPERATOR) as manager:
                        await _wait_until_idle(cluster, manager, acting, asyncio.Event())
            return await self._read_state(cluster.client)

    async def _create_definitions(self, client: Client) -> None:
        for kind in self.definitions:
            await client.resource(_CRDS).create(crd.build_manifest([kind]))
        for kind in self.definitions:
            await eventually(lambda kind=kind: _is_served(client, kind))  # type: ignore[misc]

    @contextlib.asynccontextmanager
    async def _run_operator(self, cluster: Cluster, agent: str) -> AsyncIterator[Manager]:
        config = ClusterConfig(server=cluster.url, user_agent=agent, timeout_s=2.0)
        async with Client(config) as client:
            manager = Manager(
                client,
                events="off",
                watch=_QUICK,
                graceful_shutdown_timeout_s=0.0,
                rng=random.Random(1),
            )
            for controller in self.controllers():
                manager.add(controller)
            async with manager.running():
                yield manager

    async def _read_state(self, client: Client) -> State:
        return {
            f"{kind.__name__} {obj.key}": _normalize(obj, self.ignore)
            for kind in self.compare
            for obj in await client.list(kind)
        }


async def _is_served(client: Client, kind: type[Object]) -> bool:
    await client.list(kind)
    return True


async def _run_scenario(scenario: Scenario, client: Client) -> None:
    await scenario(client)


async def _wait_until_idle(
    cluster: Cluster, manager: Manager, acting: "asyncio.Task[None]", crashed: asyncio.Event
) -> None:
    """Wait until the scenario has ended and no write happens, or the operator has crashed."""
    clock: Clock = SystemClock()
    store = cluster.api.core.store
    revision, since = store.revision, clock.monotonic()
    while not crashed.is_set():
        await clock.sleep(0.01)
        if store.revision != revision or not acting.done():
            revision, since = store.revision, clock.monotonic()
        still_s = clock.monotonic() - since
        next_s = manager.next_work_s()
        if still_s > _IDLE_S and (next_s is None or next_s > _SOON_S or still_s > _SOON_S):
            return


def _normalize(obj: Object, ignore: Iterable[tuple[str, ...]]) -> Any:
    document = _drop_volatile(json.decode(get_raw(obj) or b"{}"))
    for path in ignore:
        _drop_path(document, path)
    return document


def _parse_path(path: str) -> tuple[str, ...]:
    parts = tuple(path.removeprefix(".").split("."))
    if not all(parts):
        raise ValueError(f"invalid path {path!r} in ignore: must be like .status.address")
    return parts


def _drop_path(value: Any, path: Sequence[str]) -> None:
    """Remove what a path names; a list on the way means each of its entries."""
    if isinstance(value, list):
        for each in value:
            _drop_path(each, path)
    elif isinstance(value, dict) and len(path) == 1:
        value.pop(path[0], None)
    elif isinstance(value, dict) and path[0] in value:
        _drop_path(value[path[0]], path[1:])


def _drop_volatile(value: Any) -> Any:
    """Remove the fields that may differ between runs: identities, versions and times."""
    if isinstance(value, dict):
        return {
            name: _drop_volatile(inner)
            for name, inner in value.items()
            if name not in _VOLATILE and not name.endswith(("Time", "Timestamp", "Generation"))
        }
    if isinstance(value, list):
        return [_drop_volatile(inner) for inner in value]
    return value


def _compare_states(wanted: State, found: State, fault: str) -> None:
    problems = [f"{name} is missing" for name in sorted(wanted.keys() - found.keys())]
    problems += [f"{name} is unexpected" for name in sorted(found.keys() - wanted.keys())]
    problems += [
        f"{name} differs (- without faults, + found):\n{_build_diff(value, found[name])}"
        for name, value in sorted(wanted.items())
        if name in found and found[name] != value
    ]
    if problems:
        raise AssertionError(f"{fault}: " + "; ".join(problems))


def _build_diff(wanted: Any, found: Any) -> str:
    """The lines that differ, with three lines around them."""
    before, after = (
        msgspec.json.format(msgspec.json.encode(each, order="sorted"), indent=2).decode()
        for each in (wanted, found)
    )
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    return "\n".join([*lines][2:])
