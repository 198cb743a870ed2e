"""Writes that the disk refuses: nobody is told of them, and the server repeats its own."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from tests.integration.server.conftest import CONFIG_MAPS, MERGE, Answer, Serving

from quarterdeck.kit.clock import VirtualClock
from quarterdeck.server.options import ServerOptions
from quarterdeck.storage import CommitFailed, StorageError, StoreEvent
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog
from quarterdeck.storage.retries import FIRST_RETRY_S
from quarterdeck.testing.poll import eventually

DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.stable.example.com"
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1.stable.example.com"


class Disk:
    """Refuses batches that hold a certain write, and keeps commits back while it is held."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses: Callable[[StoreEvent], bool] = lambda event: False
        self.refused = 0
        self.is_held = False
        self.held: list[Callable[[StorageError | None], None]] = []
        monkeypatch.setattr(MemoryLog, "commit", self.commit)

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        if self.is_held:
            self.held.append(done)
            return
        is_refused = any(self.refuses(event) for event in events)
        self.refused += is_refused
        error = CommitFailed("the disk is full") if is_refused else None
        asyncio.get_running_loop().call_soon(done, error)

    def release(self, error: StorageError | None) -> None:
        self.is_held = False
        for done in self.held:
            done(error)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def test_a_definition_is_established_after_a_write_that_failed(
    serving: Serving, disk: Disk
) -> None:
    clock = VirtualClock()
    async with serving(clock=clock) as api:
        disk.refuses = lambda event: event.key.resource.startswith("custom") and bool(event.before)
        await api.define_widgets()
        assert disk.refused == 1
        assert not (await api("GET", DEFINITION)).body["status"]["conditions"]
        disk.refuses = lambda event: False
        await clock.advance(FIRST_RETRY_S)

        async def is_established() -> bool:
            conditions = (await api("GET", DEFINITION)).body["status"]["conditions"]
            return {each["type"] for each in conditions} >= {"Established"}

        await eventually(is_established)


@pytest.mark.parametrize("change", ["PATCH", "DELETE"])
async def test_a_definition_is_established_after_a_change_that_failed(
    serving: Serving, disk: Disk, change: str
) -> None:
    clock = VirtualClock()
    async with serving(clock=clock) as api:
        store = api.cluster.api.core.store
        disk.is_held = True
        first = asyncio.create_task(api.define_widgets())
        await eventually(lambda: store.statistics().writes_waiting == 1)
        labels = {"metadata": {"labels": {"a": "b"}}} if change == "PATCH" else None
        second = asyncio.create_task(api(change, DEFINITION, labels, media=MERGE))
        await eventually(lambda: store.statistics().writes_waiting == 2)
        disk.refuses = lambda event: bool(event.before)
        disk.release(None)
        assert (await second).status == 500
        await first
        disk.refuses = lambda event: False
        await clock.advance(FIRST_RETRY_S)

        async def is_established() -> bool:
            conditions = (await api("GET", DEFINITION)).body["status"].get("conditions") or ()
            return {each["type"] for each in conditions} >= {"Established"}

        await eventually(is_established)


async def test_an_api_service_appears_after_a_write_that_failed(
    serving: Serving, disk: Disk
) -> None:
    clock = VirtualClock()
    async with serving(clock=clock, options=ServerOptions(has_system_objects=True)) as api:
        disk.refuses = lambda event: event.key.name == API_SERVICE.rpartition("/")[2]
        await api.define_widgets()
        await eventually(lambda: disk.refused > 0)
        assert (await api("GET", API_SERVICE)).status == 404
        disk.refuses = lambda event: False
        await clock.advance(FIRST_RETRY_S)

        async def is_there() -> bool:
            return (await api("GET", API_SERVICE)).status == 200

        await eventually(is_there)


@pytest.mark.parametrize("again", ["PATCH", "DELETE"])
async def test_a_request_that_changes_nothing_is_not_answered_with_a_write_that_failed(
    serving: Serving, disk: Disk, again: str
) -> None:
    async with serving() as api:
        held = {"name": "a", "finalizers": ["example.com/hold"]}
        await api("POST", CONFIG_MAPS, {"metadata": held})
        path, change = f"{CONFIG_MAPS}/a", {"data": {"a": "b"}}
        core = api.cluster.api.core

        def send() -> "asyncio.Task[Answer]":
            if again == "DELETE":
                return asyncio.create_task(api("DELETE", path))
            return asyncio.create_task(api("PATCH", path, change, media=MERGE))

        disk.is_held = True
        first = send()
        await eventually(lambda: core.store.statistics().writes_waiting == 1)
        timers = core.timers.statistics()["timers"]
        second = send()
        await eventually(lambda: core.timers.statistics()["timers"] > timers)  # it waits
        disk.release(CommitFailed("the disk is full"))
        assert (await first).status == 500
        await api.make("other")
        answer = await second
        assert answer.status == 200
        stored = (await api("GET", path)).body
        assert stored["metadata"]["resourceVersion"] == answer.version
