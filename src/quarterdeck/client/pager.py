"""Reads a list page by page, all at one resource version."""

from collections.abc import AsyncGenerator

import msgspec

from quarterdeck.client.interfaces import ListPage, Reader
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions

PAGE = 500
"""How many objects a page has by default."""


async def iterate_pages(
    api: Reader, path: ResourcePath, options: ListOptions
) -> AsyncGenerator[ListPage, None]:
    """Every page; after the first, the continue token replaces the resource version."""
    options = msgspec.structs.replace(options, limit=options.limit or PAGE)
    while True:
        page = await api.list(path, options)
        yield page
        if not page.continue_:
            return
        options = msgspec.structs.replace(
            options, continue_=page.continue_, resource_version="", resource_version_match=""
        )
