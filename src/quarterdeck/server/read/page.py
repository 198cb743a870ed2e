"""Pages: the selected entries of a snapshot, up to a limit."""

import functools
import itertools
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from quarterdeck.server.core import Core
from quarterdeck.server.core.time_slice import TimeSlice
from quarterdeck.server.read.selection import Selection
from quarterdeck.storage import Entry, Snapshot, StoreKey

_BATCH = 256


class Page(NamedTuple):
    """The entries of a page; `after` is the last of them if there are more."""

    entries: list[Entry]
    after: tuple[str, str] | None = None
    bytes: int = 0


async def collect_page(
    core: Core,
    snapshot: Snapshot,
    selection: Selection,
    *,
    after: tuple[str, str] | None = None,
    limit: int = 0,
) -> Page:
    """Collect the selected entries of a snapshot, at most `limit` (0 for all)."""
    resource, namespace = selection.resource.stored_name, selection.namespace
    if selection.name is not None and (namespace or not selection.resource.namespaced):
        entry = snapshot.get(StoreKey(resource, namespace or "", selection.name))
        found = [entry] if entry is not None else []
        if selection.resource.converter is not None:
            found = await core.conversions.convert_entries(selection.resource, found)
        return Page([each async for each in _select(core, selection, found, TimeSlice(core))])
    turns = TimeSlice(core)
    entries = snapshot.range(resource, namespace, after=after)
    everything = selection.is_everything
    found = []
    size = 0
    while batch := list(itertools.islice(entries, _BATCH)):
        if selection.resource.converter is not None:
            batch = await core.conversions.convert_entries(selection.resource, batch)
        if everything:
            chosen = batch
        elif selection.fields is None:
            chosen = [each for each in batch if selection.matches(each)]
        else:
            chosen = [each async for each in _select(core, selection, batch, turns)]
        found += chosen
        size += sum([len(each.value) for each in chosen])
        if 0 < limit < len(found):
            last = found[limit - 1].key
            return Page(found[:limit], (last.namespace, last.name), size)
        await turns.yield_if_due()
    return Page(found, bytes=size)


async def _select(
    core: Core, selection: Selection, entries: Iterable[Entry], turns: TimeSlice
) -> AsyncIterator[Entry]:
    """Yield the selected entries; the fields of large objects are read in a thread."""
    for entry in entries:
        size = 0 if selection.fields is None else len(entry.value)
        if await core.worker.run(size, functools.partial(selection.matches, entry)):
            yield entry
        if turns.is_due:
            await turns.yield_if_due()
