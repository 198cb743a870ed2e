"""GET of many objects: pages, selectors, revisions, Tables.

Stored bytes are joined, never encoded again. A long list is walked in slices and written in pieces,
so that others get their turns; all of it is read from one snapshot.
"""

from quarterdeck.meta.field import quote
from quarterdeck.meta.release import is_since
from quarterdeck.server.core import Core
from quarterdeck.server.read import continue_token
from quarterdeck.server.read.options import EXACT, NOT_OLDER
from quarterdeck.server.read.page import Page, collect_page
from quarterdeck.server.read.resource_version import parse_version, wait_for_version
from quarterdeck.server.read.selection import Selection, parse_selection
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.response import lists, responses
from quarterdeck.storage import Compacted, Snapshot
from quarterdeck.wire.query import ListOptions, parse_query
from quarterdeck.wire.status import ApiError, BadRequest, Expired

_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)


_VERSION_EXPIRED = "The resourceVersion for the provided list is too old."


async def handle(core: Core, call: Call, options: ListOptions) -> responses.Response:
    """One page of the objects a request selects."""
    selection = parse_selection(call, options)
    snapshot, after = await _open_snapshot(core, options, selection)
    page = await collect_page(
        core, snapshot, selection, after=after, limit=_get_limit(call, options)
    )
    metadata = _build_metadata(call, snapshot, selection, page)
    include = _parse_include(call)
    return await lists.build_list_response(
        core, call, page.entries, size=page.bytes, metadata=metadata, include=include
    )


def _parse_include(call: Call) -> str:
    """Which part of each object a Table carries.

    Raises:
        BadRequest: for an unknown part.
    """
    include = parse_query(call.request.query).get("includeObject", [""])[0] or "Metadata"
    if call.choice.form is Form.TABLE and include not in ("Metadata", "Object", "None"):
        raise BadRequest(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" {quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
        )
    return include


def _get_limit(call: Call, options: ListOptions) -> int:
    """The size of a page; a list of any version comes whole, from the cache that Kubernetes has
    for all resources but events.
    """
    is_cached = call.resource.stored_name != "events" and not options.continue_
    return 0 if options.resource_version == "0" and is_cached else options.limit


async def _open_snapshot(
    core: Core, options: ListOptions, selection: Selection
) -> tuple[Snapshot, tuple[str, str] | None]:
    if options.continue_:
        return await _open_continued_snapshot(core, options, selection)
    version = _parse_list_version(selection, options)
    if not version:
        return core.store.snapshot(), None
    is_exact = options.resource_version_match == EXACT or (
        not options.resource_version_match and options.limit > 0
    )
    if is_exact and version > core.store.revision:
        raise ApiError("etcdserver: mvcc: required revision is a future revision", code=500)
    await wait_for_version(core, options.resource_version)
    if not is_exact:
        return core.store.snapshot(), None
    try:
        return await core.store.snapshot_at(version), None
    except Compacted as error:
        raise Expired(_VERSION_EXPIRED) from error


def _parse_list_version(selection: Selection, options: ListOptions) -> int:
    """The version a list is read at.

    Kubernetes words a bad one by where it reads: its cache, or the store behind it, which pages,
    exact versions and events are read from; since 1.33 in the words of the latter.
    """
    match = options.resource_version_match
    is_cached = match == NOT_OLDER or (not options.limit and match != EXACT)
    try:
        return parse_version(options.resource_version)
    except ApiError as error:
        if is_cached and selection.resource.stored_name != "events" and not is_since(1, 33):
            raise
        raise BadRequest(f"invalid resource version: {error.message}") from error


async def _open_continued_snapshot(
    core: Core, options: ListOptions, selection: Selection
) -> tuple[Snapshot, tuple[str, str] | None]:
    if options.resource_version not in ("", "0"):
        raise BadRequest("specifying resource version is not allowed when using continue")
    position = continue_token.decode(options.continue_, selection.namespace)
    if position.revision == continue_token.INCONSISTENT:
        return core.store.snapshot(), position.after
    if position.revision < 0 or position.revision > core.store.revision:
        raise BadRequest(
            "invalid continue token: continue key is not valid: incorrect encoded start"
            " resourceVersion (version meta.k8s.io/v1)"
        )
    try:
        return await core.store.snapshot_at(position.revision), position.after
    except Compacted as error:
        renewed = continue_token.Position(continue_token.INCONSISTENT, position.after)
        token = continue_token.encode(renewed, selection.namespace)
        raise Expired(_CONTINUE_EXPIRED, metadata={"continue": token}) from error


def _build_metadata(
    call: Call, snapshot: Snapshot, selection: Selection, page: Page
) -> dict[str, object]:
    metadata: dict[str, object] = {"resourceVersion": str(snapshot.revision)}
    if page.after is not None:
        position = continue_token.Position(snapshot.revision, page.after)
        metadata["continue"] = continue_token.encode(position, selection.namespace)
        if selection.is_everything:
            metadata["remainingItemCount"] = snapshot.count(
                selection.resource.stored_name, selection.namespace, after=page.after
            )
    return metadata
