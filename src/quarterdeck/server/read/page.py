"""Pages: the selected entries of a snapshot, up to a limit."""

import itertools
from typing import NamedTuple

from quarterdeck.server.core import Core
from quarterdeck.server.core.time_slice import TimeSlice
from quarterdeck.server.read.selection import Selection
from quarterdeck.storage import Entry, Snapshot, StoreKey

_BATCH = 256


class Page(NamedTuple):
    """The entries of a page; `after` is set if there may be more."""

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
    """Collect the entries of a snapshot that are selected, at most `limit` of them (0 for all)."""
    resource, namespace = selection.resource.stored_name, selection.namespace
    if selection.name is not None and (namespace or not selection.resource.namespaced):
        entry = snapshot.get(StoreKey(resource, namespace or "", selection.name))
        found = [entry] if entry is not None else []
        if selection.resource.converter is not None:
            found = await core.conversions.convert_entries(selection.resource, found)
        return Page([each for each in found if selection.matches(each)])
    turns = TimeSlice(core)
    entries = snapshot.range(resource, namespace, after=after)
    everything = selection.is_everything
    found = []
    size = 0
    while batch := list(itertools.islice(entries, _BATCH)):
        if selection.resource.converter is not None:
            batch = await core.conversions.convert_entries(selection.resource, batch)
        chosen = batch if everything else [each for each in batch if selection.matches(each)]
        found += chosen
        size += sum([len(each.value) for each in chosen])
        if 0 < limit < len(found):
            last = found[limit - 1].key
            return Page(found[:limit], (last.namespace, last.name), size)
        await turns.yield_if_due()
    return Page(found, bytes=size)
