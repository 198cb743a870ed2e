"""DELETE of a collection: deletes every object of the page that the request selects."""

import sys

import msgspec

from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.core.time_slice import TimeSlice
from quarterdeck.server.handlers.delete import read_options
from quarterdeck.server.read.list_page import read_list_page
from quarterdeck.server.read.selection import parse_selection
from quarterdeck.server.registry.conversion import ConversionNeeded
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import lists, responses
from quarterdeck.storage import Entry
from quarterdeck.wire.query import DeleteOptions, ListOptions
from quarterdeck.wire.status import NotFound

_NO_LIMIT = sys.maxsize
"""Used without a limit: Kubernetes reads in pages here, for which a version is an exact match."""


async def handle(core: Core, call: Call) -> responses.Response:
    """Delete each selected object by itself; answers with the objects as they were."""
    selector = ListOptions.parse(call.request.query)
    if not selector.limit:
        selector = msgspec.structs.replace(selector, limit=_NO_LIMIT)
    options = await read_options(core, call)
    selection = parse_selection(call, selector)
    page, metadata = await read_list_page(core, selector, selection)
    turns = TimeSlice(core)
    deleted: list[Entry] = []
    for entry in page.entries:
        path = call.path._replace(namespace=entry.key.namespace, name=entry.key.name)
        one = msgspec.structs.replace(call, path=path)
        try:
            await _delete(core, one, options)
        except NotFound:
            continue
        deleted.append(entry)
        await turns.yield_if_due()
    size = sum(len(entry.value) for entry in deleted)
    return await lists.build_list_response(core, call, deleted, size=size, metadata=metadata)


async def _delete(core: Core, call: Call, options: DeleteOptions) -> None:
    """Delete one object; only this is run again for a conversion, not the whole request."""
    try:
        await write.delete(core, call, options)
    except ConversionNeeded as needed:
        await core.conversions.retry_with_conversions(
            lambda: write.delete(core, call, options), needed
        )
