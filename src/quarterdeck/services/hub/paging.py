"""Pages of lists. A body is a plain array, for existing clients; totals and links are headers."""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from quarterdeck.services.hub.call import Page

MAX_SIZE = 1000
_OURS = ("page", "page_size")
PageNumber = Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="Page, from 1 on.")]
PageSize = Annotated[
    int, msgspec.Meta(ge=1, le=MAX_SIZE, description="Items of a page; all of them if left out.")
]


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of every list."""

    page: PageNumber = 1
    page_size: PageSize | msgspec.UnsetType = msgspec.UNSET


def slice_page(items: Sequence[Any], paging: Paging) -> Page:
    """One page of a list; the whole list if no size is given."""
    size = paging.page_size
    if isinstance(size, msgspec.UnsetType):
        whole = list(items) if paging.page == 1 else []
        return Page(items=whole, total=len(items), page=paging.page, size=len(items))
    start = (paging.page - 1) * size
    return Page(
        items=list(items[start : start + size]), total=len(items), page=paging.page, size=size
    )


def build_page_headers(page: Page, target: str) -> list[tuple[str, str]]:
    """X-Total-Count, and links to the previous and next page with the request's parameters."""
    headers = [("X-Total-Count", str(page.total))]
    links = []
    if page.size and page.page > 1:
        links.append(_link(target, page.page - 1, size=page.size, rel="prev"))
    if page.size and page.page * page.size < page.total:
        links.append(_link(target, page.page + 1, size=page.size, rel="next"))
    return [*headers, ("Link", ", ".join(links))] if links else headers


def _link(target: str, number: int, *, size: int, rel: str) -> str:
    path, _, query = target.partition("?")
    kept = [each for each in parse_qsl(query, keep_blank_values=True) if each[0] not in _OURS]
    wanted = [*kept, ("page", str(number)), ("page_size", str(size))]
    return f'<{path}?{urlencode(wanted)}>; rel="{rel}"'
