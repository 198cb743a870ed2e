"""A log read in full: the state it amounts to, and the newest events as history."""

import gc
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from quarterdeck.storage.encryption import MARK, Cipher, build_locked
from quarterdeck.storage.errors import Damaged
from quarterdeck.storage.sqlite.file import connect_read_only
from quarterdeck.storage.state import State
from quarterdeck.storage.types import Derive, Entry, StoreEvent, StoreKey, defer_facts

LOAD: Final = "SELECT revision, resource, namespace, name, created, value FROM log ORDER BY 1"


class Loaded(NamedTuple):
    """What a store starts with."""

    state: State
    events: list[StoreEvent]
    floor: int
    revision: int
    compacted: int


def load(path: Path, derive: Derive | None, *, keep: int, cipher: Cipher | None = None) -> Loaded:
    """Fold the log into the state, read-only, with the newest events kept as history."""
    facts = defer_facts(derive)
    entries: dict[StoreKey, Entry] = {}
    events: list[StoreEvent] = []
    intern = sys.intern
    with closing(connect_read_only(path)) as connection, _pause_gc():
        compacted, newest = connection.execute(
            "SELECT value, (SELECT max(revision) FROM log) FROM meta WHERE key = 'compacted'"
        ).fetchone() or (None, None)
        if not isinstance(compacted, int):
            raise Damaged(f"{path} is damaged: the compacted revision is missing")
        revision = max(newest or 0, compacted)
        floor = max(compacted, revision - keep)
        for number, resource, namespace, name, created, value in connection.execute(LOAD):
            key = StoreKey(intern(resource), intern(namespace), name)
            if value.startswith(MARK):
                if cipher is None:
                    raise build_locked(key, value.split(b":", 5)[4].decode(errors="replace"))
                value = cipher.decrypt(key, value)
            if created:
                after = Entry(key, number, created_revision=created, value=value, _facts=facts)
                if number > floor:
                    before = entries.get(key)
                    events.append(StoreEvent(number, key, before=before, after=after))
                entries[key] = after
            else:
                before = entries.pop(key, None)
                if number > floor:
                    gone = StoreEvent(number, key, before=before, after=None, tombstone=value)
                    events.append(gone)
        state = State.load(entries.values())
    return Loaded(state, events, floor, revision, compacted)


@contextmanager
def _pause_gc() -> Iterator[None]:
    """Loading makes many objects and no garbage; searching for it would take half the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
