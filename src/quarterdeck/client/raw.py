"""The verbs on bytes, which the typed client, the untyped client and the runtime use."""

import functools
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from quarterdeck.client import requests
from quarterdeck.client.errors import InvalidResponse
from quarterdeck.client.interfaces import (
    ApiResource,
    Form,
    ListPage,
    Observer,
    PatchType,
)
from quarterdeck.client.sender import Sender
from quarterdeck.meta.identity import GVK
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    UpdateOptions,
)

if TYPE_CHECKING:
    from quarterdeck.client.discovery import Discovery


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None
    api_version: str = ""
    kind: str = ""


_lists = msgspec.json.Decoder(_List)


class RawApi:
    """Implements `interfaces.Api` over one transport."""

    def __init__(self, transport: Sender) -> None:
        self.transport = transport

    @functools.cached_property
    def discovery(self) -> "Discovery":
        """What the server serves, asked for when it is first needed."""
        from quarterdeck.client.discovery import Discovery

        return Discovery(self.transport)

    def observe(self, observer: Observer, /) -> None:
        """Add an observer of all later requests."""
        self.transport.observe(observer)

    async def discover_resource(self, gvk: GVK, /, *, fresh: bool = False) -> ApiResource:
        """The resource of a kind."""
        return await self.discovery.discover_resource(gvk, fresh=fresh)

    async def get(self, path: ResourcePath, options: GetOptions = GetOptions(), /) -> bytes:
        """One object."""
        return await self.transport.send(requests.get(path, options))

    async def list(
        self, path: ResourcePath, options: ListOptions, /, *, form: Form = Form.FULL
    ) -> ListPage:
        """One page of objects, undecoded."""
        request = requests.list_(path, options, form)
        body = await self.transport.send(request)
        try:
            listed = _lists.decode(body)
        except msgspec.DecodeError as error:
            url = f"{self.transport.config.server}{request.target}"
            raise InvalidResponse(
                f"GET {url}: the response is not a list of objects: {error}"
            ) from error
        return ListPage(
            items=[bytes(item) for item in listed.items or ()],
            resource_version=listed.metadata.resource_version,
            continue_=listed.metadata.continue_,
            remaining=listed.metadata.remaining_item_count,
            api_version=listed.api_version,
            kind=listed.kind.removesuffix("List"),
        )

    def watch(
        self, path: ResourcePath, options: ListOptions, /, *, form: Form = Form.FULL
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A stream of frames."""
        return self.transport.stream(requests.watch(path, options, form))

    async def create(
        self, path: ResourcePath, body: bytes, options: CreateOptions = CreateOptions(), /
    ) -> bytes:
        """POST."""
        return await self.transport.send(requests.create(path, body, options))

    async def update(
        self, path: ResourcePath, body: bytes, options: UpdateOptions = UpdateOptions(), /
    ) -> bytes:
        """PUT."""
        return await self.transport.send(requests.update(path, body, options))

    def patch(
        self,
        path: ResourcePath,
        body: bytes,
        kind: PatchType,
        options: PatchOptions = PatchOptions(),
        /,
    ) -> Coroutine[Any, Any, bytes]:
        """PATCH."""
        return self.transport.send(requests.patch(path, body, kind, options))

    async def delete(
        self, path: ResourcePath, options: DeleteOptions = DeleteOptions(), /
    ) -> bytes:
        """DELETE one object."""
        return await self.transport.send(requests.delete(path, options))

    async def delete_collection(
        self,
        path: ResourcePath,
        selection: ListOptions = ListOptions(),
        options: DeleteOptions = DeleteOptions(),
        /,
    ) -> bytes:
        """DELETE what a selection names."""
        return await self.transport.send(requests.delete_collection(path, selection, options))

    async def read_path(self, target: str) -> bytes:
        """GET a path without a resource, such as `/version`."""
        return await self.transport.send(requests.get_path(target))
