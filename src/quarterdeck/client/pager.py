"""Following a list from page to page, all of one moment."""

from collections.abc import AsyncGenerator

import msgspec

from quarterdeck.client.interfaces import ListPage, Reader
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions

PAGE = 500
"""How many objects a page has unless the caller says otherwise."""


async def iterate_pages(
    api: Reader, path: ResourcePath, options: ListOptions
) -> AsyncGenerator[ListPage, None]:
    """Every page; only the first names a resource version, the token stands for it after that."""
    options = msgspec.structs.replace(options, limit=options.limit or PAGE)
    while True:
        page = await api.list(path, options)
        yield page
        if not page.continue_:
            return
        options = msgspec.structs.replace(
            options, continue_=page.continue_, resource_version="", resource_version_match=""
        )
