"""A log read in full and checked: the state it amounts to, and the newest events as history.

Each row has a checksum and names the row it replaced, and the high-water mark names the newest
row: what is missing or changed is found here, before anything is served.
"""

import sys
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from quarterdeck.kit.gc_tuning import pause_gc
from quarterdeck.storage.encryption import MARK, Cipher, build_unknown_key_error
from quarterdeck.storage.errors import Damaged
from quarterdeck.storage.sqlite.checksum import compute_checksum
from quarterdeck.storage.sqlite.file import UNSEALED, connect_read_only
from quarterdeck.storage.state import State
from quarterdeck.storage.types import Derive, Entry, StoreEvent, StoreKey, defer_facts

LOAD: Final = "SELECT * FROM log ORDER BY revision"
LOAD_UNSEALED: Final = "SELECT *, NULL FROM log ORDER BY revision"
"""The same in a database without checksums, which is read to be copied or checked."""
MAX_FINDINGS: Final = 20
"""How many damaged rows are named; the others are counted."""


class Loaded(NamedTuple):
    """What a store starts with."""

    state: State
    events: list[StoreEvent]
    floor: int
    revision: int
    compacted: int
    findings: list[str]
    """What is wrong with rows; empty if all of them are as they were written."""


def load(path: Path, derive: Derive | None, *, keep: int, cipher: Cipher | None = None) -> Loaded:
    """Fold the log into the state, read-only, with the newest events kept as history."""
    facts = defer_facts(derive)
    entries: dict[StoreKey, Entry] = {}
    events: list[StoreEvent] = []
    findings: list[str] = []
    intern = sys.intern
    with closing(connect_read_only(path)) as connection, pause_gc():  # no garbage is made here
        connection.execute("BEGIN")  # one state, whatever a server compacts meanwhile
        compacted, newest = connection.execute(
            "SELECT value, (SELECT max(revision) FROM log) FROM meta WHERE key = 'compacted'"
        ).fetchone() or (None, None)
        if not isinstance(compacted, int):
            raise Damaged(f"{path} is damaged: the compacted revision is missing")
        revision = max(newest or 0, compacted)
        floor = max(compacted, revision - keep)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        is_sealed = version != UNSEALED
        for row in connection.execute(LOAD if is_sealed else LOAD_UNSEALED):
            number, resource, namespace, name, created, replaced, value, checksum = row
            where = (resource, namespace, name)
            if is_sealed and checksum != compute_checksum(number, where, created, replaced, value):
                findings.append(f"revision {number} of {_join(where)}: wrong checksum")
                continue
            key = StoreKey(intern(resource), intern(namespace), name)
            if value.startswith(MARK):
                if cipher is None:
                    raise build_unknown_key_error(
                        key, value.split(b":", 5)[4].decode(errors="replace")
                    )
                value = cipher.decrypt(key, value)
            before = entries.get(key)
            if number > compacted and replaced != (before.revision if before else 0):
                findings.append(f"revision {replaced} of {_join(where)}: missing or out of order")
            if created:
                after = Entry(key, number, created_revision=created, value=value, _facts=facts)
                if number > floor:
                    events.append(StoreEvent(number, key, before=before, after=after))
                entries[key] = after
            else:
                entries.pop(key, None)
                if number > floor:
                    gone = StoreEvent(number, key, before=before, after=None, tombstone=value)
                    events.append(gone)
        state = State.load(entries.values())
    return Loaded(state, events, floor, revision, compacted, findings)


class _Sealed(Cipher):
    """Leaves encrypted values as they are: checksums are those of the bytes on the disk."""

    def decrypt(self, key: StoreKey, value: bytes) -> bytes:
        return value


def load_sealed(path: Path) -> Loaded:
    """Fold the log into the state without history, and without decrypting its values."""
    return load(path, None, keep=0, cipher=_Sealed({}, []))


def describe_findings(findings: list[str]) -> str:
    """The first findings in one line, and how many more there are."""
    more = len(findings) - MAX_FINDINGS
    return "; ".join(findings[:MAX_FINDINGS]) + (f"; and {more} more" if more > 0 else "")


def _join(parts: tuple[object, ...]) -> str:
    return "/".join(str(part) for part in parts if part)
