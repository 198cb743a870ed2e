"""Stores the fleet on disk: one record per key in a revisioned store."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TypeVar

import msgspec

from quarterdeck.services.fleet.records import Collector, Pipeline, Revision
from quarterdeck.storage import Store, StoreKey, Ticket

Record = TypeVar("Record")

_PIPELINES = "pipelines"
_REVISIONS = "pipeline-revisions"
_COLLECTORS = "collectors"
_encode = msgspec.json.Encoder().encode


class Persistence:
    """Reads everything at the start, writes single records after."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load_pipelines(self) -> list[Pipeline]:
        """Every stored pipeline."""
        return self._read(_PIPELINES, Pipeline)

    def load_revisions(self) -> list[Revision]:
        """Every stored revision."""
        return self._read(_REVISIONS, Revision)

    def load_collectors(self) -> list[Collector]:
        """Every stored collector."""
        return self._read(_COLLECTORS, Collector)

    def transaction(self) -> AbstractContextManager[None]:
        """Make the writes inside durable all or none; nothing may be awaited inside."""
        return self._store.transaction()

    def put_pipeline(self, pipeline: Pipeline) -> Ticket:
        """Store a pipeline; durable when the ticket is awaited."""
        return self._put(_PIPELINES, pipeline.id, pipeline)

    def put_revision(self, revision: Revision) -> Ticket:
        """Store a revision."""
        return self._put(_REVISIONS, revision.revision_id, revision)

    def put_collector(self, collector: Collector) -> Ticket:
        """Store a collector."""
        return self._put(_COLLECTORS, collector.id, collector)

    def delete_pipeline(self, identity: str) -> Ticket | None:
        """Delete a pipeline."""
        return self._delete(_PIPELINES, identity)

    def delete_revision(self, identity: str) -> Ticket | None:
        """Delete a revision."""
        return self._delete(_REVISIONS, identity)

    def delete_collector(self, identity: str) -> Ticket | None:
        """Delete a collector."""
        return self._delete(_COLLECTORS, identity)

    def _read(self, resource: str, kind: type[Record]) -> list[Record]:
        decode = msgspec.json.Decoder(kind).decode
        snapshot = self._store.snapshot()
        return [decode(entry.value) for entry in snapshot.range(resource, None)]

    def _put(self, resource: str, name: str, record: msgspec.Struct) -> Ticket:
        value = _encode(record)
        return self._store.put(StoreKey(resource, "", name), lambda revision: value)

    def _delete(self, resource: str, name: str) -> Ticket | None:
        key = StoreKey(resource, "", name)
        if self._store.get_pending(key) is None:
            return None
        return self._store.delete(key, lambda revision: b"null")


async def settle(tickets: Iterable[Ticket | None]) -> None:
    """Wait until everything is on disk."""
    for ticket in tickets:
        if ticket is not None:
            await ticket
