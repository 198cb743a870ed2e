"""The verbs on dictionaries, for kinds without a type: what a generic tool needs."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from quarterdeck.client import pager
from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.frame import EventType, decode_event
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    UpdateOptions,
)
from quarterdeck.wire.status import from_status


class ResourceClient:
    """One resource of one server; objects are plain dictionaries."""

    def __init__(self, api: Api, gvr: GVR, *, subresource: str = "") -> None:
        self._api = api
        self._gvr = gvr
        self._subresource = subresource

    def subresource(self, name: str) -> "ResourceClient":
        """The same resource at `status`, `scale` or another subresource."""
        return ResourceClient(self._api, self._gvr, subresource=name)

    def path(self, namespace: str = "", name: str = "") -> ResourcePath:
        """The path of this resource, or of one object of it."""
        return ResourcePath(*self._gvr, namespace, name, self._subresource if name else "")

    async def get(
        self, name: str, namespace: str = "", options: GetOptions = GetOptions()
    ) -> dict[str, Any]:
        """One object. Raises `NotFound`."""
        return _decode_document(await self._api.get(self.path(namespace, name), options))

    async def iterate_pages(
        self, namespace: str = "", options: ListOptions = ListOptions()
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Every object, a page at a time, all at one resource version."""
        async for page in pager.iterate_pages(self._api, self.path(namespace), options):
            envelope = {"apiVersion": page.api_version, "kind": page.kind}
            yield [{**envelope, **json.decode(item)} for item in page.items]

    async def list(
        self, namespace: str = "", options: ListOptions = ListOptions()
    ) -> list[dict[str, Any]]:
        """Every object, all at one resource version."""
        return [item async for page in self.iterate_pages(namespace, options) for item in page]

    @asynccontextmanager
    async def watch(
        self, namespace: str = "", options: ListOptions = ListOptions()
    ) -> AsyncIterator[AsyncIterator[tuple[EventType, dict[str, Any]]]]:
        """Events until the server ends the stream; an ERROR event is raised."""
        async with (
            self._api.watch(self.path(namespace), options) as lines,
            aclosing(_decode_events(lines)) as events,
        ):
            yield events

    async def create(
        self,
        body: Mapping[str, Any],
        namespace: str = "",
        options: CreateOptions = CreateOptions(),
    ) -> dict[str, Any]:
        """Add an object; returns what was stored."""
        name = (body.get("metadata") or {}).get("name", "") if self._subresource else ""
        path = self.path(namespace or _get_namespace(body), name)
        return _decode_document(await self._api.create(path, json.encode(body), options))

    async def update(
        self, body: Mapping[str, Any], options: UpdateOptions = UpdateOptions()
    ) -> dict[str, Any]:
        """Replace an object; its resourceVersion, if set, is the precondition."""
        path = self.path(_get_namespace(body), body["metadata"]["name"])
        return _decode_document(await self._api.update(path, json.encode(body), options))

    async def patch(
        self,
        name: str,
        patch: object,
        *,
        namespace: str = "",
        kind: PatchType = PatchType.MERGE,
        options: PatchOptions = PatchOptions(),
    ) -> dict[str, Any]:
        """Change an object by one of the four kinds of patch."""
        path = self.path(namespace, name)
        return _decode_document(await self._api.patch(path, json.encode(patch), kind, options))

    async def apply(
        self, body: Mapping[str, Any], *, manager: str, force: bool = False, dry_run: bool = False
    ) -> dict[str, Any]:
        """Server-side apply: the manager owns exactly these fields afterwards."""
        options = PatchOptions(
            field_manager=manager,
            force=force or None,
            dry_run=("All",) if dry_run else (),
        )
        return await self.patch(
            body["metadata"]["name"],
            body,
            namespace=_get_namespace(body),
            kind=PatchType.APPLY,
            options=options,
        )

    async def delete(
        self, name: str, namespace: str = "", options: DeleteOptions = DeleteOptions()
    ) -> dict[str, Any]:
        """Remove an object; returns it, or a Status."""
        return _decode_document(await self._api.delete(self.path(namespace, name), options))

    async def delete_collection(
        self,
        namespace: str = "",
        selection: ListOptions = ListOptions(),
        options: DeleteOptions = DeleteOptions(),
    ) -> dict[str, Any]:
        """Remove every object that the selection names; returns a list of them, or a Status."""
        path = self.path(namespace)
        return _decode_document(await self._api.delete_collection(path, selection, options))


async def _decode_events(
    lines: AsyncIterator[bytes],
) -> AsyncGenerator[tuple[EventType, dict[str, Any]], None]:
    async for line in lines:
        event = decode_event(line)
        document = _decode_document(event.body)
        if event.type == EventType.ERROR:
            raise from_status(document)
        yield EventType(event.type), document


def _decode_document(body: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.decode(body)
    return document


def _get_namespace(body: Mapping[str, Any]) -> str:
    return str((body.get("metadata") or {}).get("namespace") or "")
