"""GET of many objects: pages, selectors, revisions, Tables.

Stored bytes are joined, never encoded again. A long list is walked in slices and written in pieces,
so that others get their turns; all of it is read from one snapshot.
"""

from quarterdeck.meta.field import quote
from quarterdeck.server.core import Core
from quarterdeck.server.kinds import flow_schema_order
from quarterdeck.server.read.list_page import read_list_page
from quarterdeck.server.read.selection import parse_selection
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.response import lists, responses
from quarterdeck.wire.query import ListOptions, parse_query
from quarterdeck.wire.status import BadRequest


async def handle(core: Core, call: Call, options: ListOptions) -> responses.Response:
    """Answer with one page of the selected objects."""
    selection = parse_selection(call, options)
    page, metadata = await read_list_page(core, options, selection)
    include = _parse_include(call)
    entries = page.entries
    if call.choice.form is Form.TABLE and call.resource.stored_name == flow_schema_order.RESOURCE:
        entries = sorted(entries, key=lambda each: flow_schema_order.read_precedence(each.value))
    return await lists.build_list_response(
        core, call, entries, size=page.bytes, metadata=metadata, include=include
    )


def _parse_include(call: Call) -> str:
    """Parse `includeObject`: which part of each object the rows of a Table contain.

    Raises:
        BadRequest: for an unknown value.
    """
    include = parse_query(call.request.query).get("includeObject", [""])[0] or "Metadata"
    if call.choice.form is Form.TABLE and include not in ("Metadata", "Object", "None"):
        raise BadRequest(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" {quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
        )
    return include
