"""Writes that the disk refuses: no answer tells of them."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from tests.integration.server.conftest import CONFIG_MAPS, MERGE, Answer, Serving

from quarterdeck.storage import CommitFailed, StorageError, StoreEvent
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog
from quarterdeck.testing.poll import eventually


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
