"""Reads the page of a list that its options select: version, limit and continue token.

DELETE of a collection reads it in the same way.
"""

from typing import NamedTuple

from quarterdeck.meta.release import has_feature
from quarterdeck.server.core import Core
from quarterdeck.server.read import continue_token
from quarterdeck.server.read.options import EXACT, NOT_OLDER
from quarterdeck.server.read.page import Page, collect_page
from quarterdeck.server.read.resource_version import parse_version, wait_for_version
from quarterdeck.server.read.selection import Selection
from quarterdeck.storage import Compacted, Snapshot
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, BadRequest, Expired

_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)
_VERSION_EXPIRED = "The resourceVersion for the provided list is too old."


class ListPage(NamedTuple):
    """A page, and the metadata of the list it is a part of."""

    page: Page
    metadata: dict[str, object]


async def read_list_page(core: Core, options: ListOptions, selection: Selection) -> ListPage:
    """Read one page of the selected objects.

    Raises:
        ApiError: for a version or continue token that is invalid or too old.
    """
    snapshot, after = await _open_snapshot(core, options, selection)
    limit = _get_limit(selection, options)
    page = await collect_page(core, snapshot, selection, after=after, limit=limit)
    return ListPage(page, _build_metadata(snapshot, selection, page))


def _get_limit(selection: Selection, options: ListOptions) -> int:
    """Return the limit of a page; 0 (no limit) for resourceVersion 0, as in Kubernetes' cache."""
    is_cached = selection.resource.stored_name != "events" and (
        not options.continue_ or has_feature("PagesAreReadFromTheCache")
    )
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
    if is_exact and version > core.store.revision and not has_feature("PagesAreReadFromTheCache"):
        raise ApiError("etcdserver: mvcc: required revision is a future revision", code=500)
    await wait_for_version(core, options.resource_version, retry_after_s=0 if is_exact else 1)
    if not is_exact:
        return core.store.snapshot(), None
    try:
        return await core.store.snapshot_at(version), None
    except Compacted as error:
        raise Expired(_VERSION_EXPIRED) from error


def _parse_list_version(selection: Selection, options: ListOptions) -> int:
    """Parse the version that a list is read at.

    The text of the error depends on where Kubernetes reads: from its cache, or from the store (for
    pages, exact versions and events). Since 1.33 it is always the text of the store.
    """
    match = options.resource_version_match
    is_cached = match == NOT_OLDER or (options.limit <= 0 and match != EXACT)
    try:
        return parse_version(options.resource_version)
    except ApiError as error:
        if (
            is_cached
            and selection.resource.stored_name != "events"
            and not has_feature("VersionsOfListsAreReadAlike")
        ):
            raise
        raise BadRequest(f"invalid resource version: {error.message}") from error


async def _open_continued_snapshot(
    core: Core, options: ListOptions, selection: Selection
) -> tuple[Snapshot, tuple[str, str] | None]:
    position = continue_token.decode(options.continue_, selection.namespace)
    if options.resource_version not in ("", "0"):
        raise BadRequest("specifying resource version is not allowed when using continue")
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


def _build_metadata(snapshot: Snapshot, selection: Selection, page: Page) -> dict[str, object]:
    metadata: dict[str, object] = {"resourceVersion": str(snapshot.revision)}
    if page.after is not None:
        position = continue_token.Position(snapshot.revision, page.after)
        metadata["continue"] = continue_token.encode(position, selection.namespace)
        if selection.is_everything:
            metadata["remainingItemCount"] = snapshot.count(
                selection.resource.stored_name, selection.namespace, after=page.after
            )
    return metadata
