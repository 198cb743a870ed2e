"""Lists objects page by page, and decodes only the parts that are needed."""

import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

import msgspec

from quarterdeck.client.errors import InvalidResponse
from quarterdeck.client.interfaces import Form, Reader
from quarterdeck.client.pager import iterate_pages
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions

F = TypeVar("F")
PAGE = 500


async def read_pages(
    api: Reader, gvr: GVR, form: type[F], options: ListOptions = ListOptions()
) -> AsyncGenerator[list[F], None]:
    """Every page of a resource over the whole cluster.

    Raises:
        ApiError, ClientError: as the client does.
        InvalidResponse: if an object has another shape than its kind.
    """
    decoder = msgspec.json.Decoder(form)
    path = ResourcePath(*gvr)
    async with contextlib.aclosing(iterate_pages(api, path, options)) as found:
        async for page in found:
            try:
                yield [decoder.decode(item) for item in page.items]
            except json.UNREADABLE as error:
                raise InvalidResponse(
                    f"{gvr.resource}: cannot decode an object of the list: {error}"
                ) from error


async def read_all(
    api: Reader, gvr: GVR, form: type[F], *, limit: int | None = None
) -> tuple[list[F], bool]:
    """The objects of a resource up to a limit, and whether there are more."""
    found: list[F] = []
    options = ListOptions(limit=PAGE if limit is None else min(PAGE, limit + 1))
    async with contextlib.aclosing(read_pages(api, gvr, form, options)) as listed:
        async for page in listed:
            found.extend(page)
            if limit is not None and len(found) > limit:
                return found[:limit], True
    return found, False


async def count_all(api: Reader, gvr: GVR) -> int:
    """Count the objects, without reading them all where the server returns the number."""
    page = await api.list(ResourcePath(*gvr), ListOptions(limit=1), form=Form.METADATA)
    if page.remaining is not None or not page.continue_:
        return len(page.items) + (page.remaining or 0)
    total = 0
    options = ListOptions(limit=PAGE)
    async with contextlib.aclosing(iterate_pages(api, ResourcePath(*gvr), options)) as listed:
        async for each in listed:
            total += len(each.items)
    return total
