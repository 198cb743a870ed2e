"""Random programs against a plain dictionary."""

import asyncio
import os
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from quarterdeck.storage import (
    Compacted,
    RevisionConflict,
    Snapshot,
    Store,
    StoreEvent,
    StoreKey,
    Watcher,
    open_memory,
    open_sqlite,
)

T = TypeVar("T")
KEYS = st.builds(
    StoreKey,
    st.sampled_from(["pods", "widgets.example.com"]),
    st.sampled_from(["", "a", "a-b", "b"]),
    st.sampled_from(["x", "y", "z"]),
)
SMALL_HISTORY = 7


class Row(NamedTuple):
    revision: int
    created: int
    value: bytes


class Watching(NamedTuple):
    watcher: Watcher
    resource: str | None
    namespace: str | None
    after: int
    seen: list[int]


def rows_of(snapshot: Snapshot) -> dict[StoreKey, Row]:
    return {
        entry.key: Row(entry.revision, entry.created_revision, entry.value)
        for resource in snapshot.resources()
        for entry in snapshot.range(resource)
    }


class Programs(RuleBasedStateMachine):
    """The model is a list of states, one per revision, and a list of events."""

    def __init__(self, *, on_disk: bool) -> None:
        super().__init__()
        self.on_disk = on_disk
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.store = self.open()
        assert self.store.revision == 1
        self.states: dict[int, dict[StoreKey, Row]] = {1: {}}
        self.events: list[tuple[int, StoreKey]] = []
        self.newest = 1
        self.kept: list[tuple[Snapshot, dict[StoreKey, Row]]] = []
        self.watching: list[Watching] = []

    def open(self) -> Store:
        if not self.on_disk:
            return open_memory(history_events=1000)
        path = Path(self.folder.name) / "state.db"
        return open_sqlite(path, durability="normal", history_events=SMALL_HISTORY, retain=1000)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def decide(self, key: StoreKey, *, delete: bool, data: bytes) -> Any:
        """One write in the store and in the model; both must agree whether it may happen."""
        state = self.states[self.newest]
        before = state.get(key)
        expected = before.revision if before else 0
        with pytest.raises(RevisionConflict):
            self.store.put(key, lambda _: data, expected=expected + 1)
        if delete and before is None:
            with pytest.raises(RevisionConflict):
                self.store.delete(key, lambda _: data)
            return None
        if delete:
            ticket = self.store.delete(key, lambda _: data, expected=expected)
        else:
            ticket = self.store.put(key, lambda r: data + b"@%d" % r, expected=expected)
        assert ticket.revision > self.newest
        after = {name: row for name, row in state.items() if name != key}
        if not delete:
            created = before.created if before else ticket.revision
            after[key] = Row(ticket.revision, created, data + b"@%d" % ticket.revision)
        self.newest = ticket.revision
        self.states[self.newest] = after
        self.events.append((self.newest, key))
        return ticket

    @rule(
        writes=st.lists(
            st.tuples(KEYS, st.booleans(), st.binary(max_size=6)), min_size=1, max_size=12
        )
    )
    def write(self, writes: list[tuple[StoreKey, bool, bytes]]) -> None:
        async def burst() -> None:
            tickets = [self.decide(key, delete=delete, data=data) for key, delete, data in writes]
            for ticket in tickets:
                if ticket is not None:
                    await ticket

        self.run(burst())

    @rule()
    def keep_a_snapshot(self) -> None:
        self.kept.append((self.store.snapshot(), self.states[self.newest]))

    @rule(back=st.integers(min_value=0, max_value=60))
    def read_the_past(self, back: int) -> None:
        revision = self.newest - back
        if revision < 1:
            return
        if revision < self.store.compacted:
            with pytest.raises(Compacted):
                self.run(self.store.snapshot_at(revision))
            return
        snapshot = self.run(self.store.snapshot_at(revision))
        assert snapshot.revision == revision
        self.kept.append((snapshot, self.states[revision]))

    @rule(
        back=st.integers(min_value=0, max_value=60),
        resource=st.sampled_from([None, "pods"]),
        namespace=st.sampled_from([None, "a"]),
    )
    def watch(self, back: int, resource: str | None, namespace: str | None) -> None:
        after = max(1, self.newest - back)
        if after < self.store.compacted:
            with pytest.raises(Compacted):
                self.store.watch(resource, after=after, namespace=namespace)
            return
        watcher = self.store.watch(resource, after=after, namespace=namespace)
        self.watching.append(Watching(watcher, resource, namespace, after, []))

    @rule()
    def drain_watchers(self) -> None:
        for watching in list(self.watching):
            try:
                self.run(self.drain(watching))
            except Compacted:
                # Only a watcher that still read the log can be overtaken.
                assert self.on_disk and watching.watcher.position < self.store.compacted
                self.watching.remove(watching)

    async def drain(self, watching: Watching) -> None:
        while watching.watcher.position < self.store.revision:
            for event in await self.next_batch(watching.watcher):
                watching.seen.append(event.revision)
                before = self.states[self.previous(event.revision)].get(event.key)
                after = self.states[event.revision].get(event.key)
                assert (event.before is None) == (before is None)
                assert (event.after is None) == (after is None)
                if event.before is not None and before is not None:
                    assert (event.before.revision, event.before.value) == (before[0], before[2])
                if event.after is not None and after is not None:
                    assert event.after.value == after.value
        expected = [
            revision
            for revision, key in self.events
            if revision > watching.after
            and watching.resource in (None, key.resource)
            and watching.namespace in (None, key.namespace)
        ]
        assert watching.seen == expected

    async def next_batch(self, watcher: Watcher) -> list[StoreEvent]:
        """The next batch, or none if reading the log brought nothing the watcher wants."""
        reading = asyncio.ensure_future(anext(watcher, []))
        while not reading.done() and watcher.position < self.store.revision:  # noqa: ASYNC110
            await asyncio.sleep(0)
        if not reading.done():
            reading.cancel()
        await asyncio.wait([reading])
        return [] if reading.cancelled() else reading.result()

    def previous(self, revision: int) -> int:
        return max(number for number in self.states if number < revision)

    @rule(back=st.integers(min_value=0, max_value=20))
    def compact(self, back: int) -> None:
        before = max(1, self.newest - back)
        compacted = self.store.compacted
        self.run(self.store.compact(before))
        assert self.store.compacted == max(before, compacted)

    @precondition(lambda self: self.on_disk)
    @rule()
    def restart(self) -> None:
        compacted = self.store.compacted
        self.run(self.store.close())
        self.watching.clear()
        self.store = self.open()
        assert self.store.compacted == compacted

    @precondition(lambda self: self.on_disk)
    @rule()
    def forget_everything_and_restart(self) -> None:
        self.write([(key, True, b"") for key in self.states[self.newest]])
        self.compact(back=0)
        self.restart()

    @invariant()
    def the_present_is_right(self) -> None:
        assert self.store.revision == self.newest
        assert rows_of(self.store.snapshot()) == self.states[self.newest]

    @invariant()
    def snapshots_do_not_change(self) -> None:
        for snapshot, expected in self.kept[-5:]:
            assert rows_of(snapshot) == expected

    def teardown(self) -> None:
        self.drain_watchers()
        self.run(self.store.close())
        self.loop.close()
        self.folder.cleanup()


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "sqlite"])
def test_random_programs_agree_with_a_dictionary(on_disk: bool) -> None:
    run_state_machine_as_test(
        lambda: Programs(on_disk=on_disk),  # type: ignore[arg-type]  # a factory does as well
        settings=settings(
            max_examples=400 if os.environ.get("QUARTERDECK_FULL") else 40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
