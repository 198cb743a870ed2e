"""The typed client: verbs on kinds, one server, one identity.

    async with Client(load_config()) as client:
        pod = await client.get(Pod, "web-0", "shop")

An update sends only the difference between what was read and what is wanted, with the version that
was read as its precondition: fields our types do not know are never lost.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, TypeVar

import msgspec

from quarterdeck.client import pager
from quarterdeck.client.config.cluster import ClusterConfig, Impersonation
from quarterdeck.client.errors import InvalidResponse
from quarterdeck.client.interfaces import Api, ApiResource, PatchType
from quarterdeck.client.raw import RawApi
from quarterdeck.client.sender import Sender
from quarterdeck.client.untyped import ResourceClient
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.objects import Object, decode, encode, get_raw, to_document
from quarterdeck.wire import merge_patch
from quarterdeck.wire.frame import EventType, decode_event
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    Preconditions,
)
from quarterdeck.wire.status import from_status

if TYPE_CHECKING:
    from quarterdeck.client.credentials import Provider
    from quarterdeck.kit import http
    from quarterdeck.kit.clock import Clock

Kind = TypeVar("Kind", bound=Object)


class Event(NamedTuple):
    """One change seen by `Client.watch`."""

    type: EventType
    object: Any


class Scale(msgspec.Struct, frozen=True):
    """The scale of an object of any kind: desired and current replicas."""

    spec_replicas: int
    status_replicas: int = 0
    selector: str = ""
    """Finds its pods, as a label selector; empty where it has none."""


class _TransportOptions(TypedDict):
    clock: "Clock | None"
    credentials: "Provider | None"
    network: "http.MemoryNetwork | None"


class Client:
    """Reads and writes typed objects; `get_raw` has bytes, `resource` has dictionaries."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        clock: "Clock | None" = None,
        credentials: "Provider | None" = None,
        network: "http.MemoryNetwork | None" = None,
        sender: Sender | None = None,
    ) -> None:
        self.config = config
        self._transport_options: _TransportOptions = {
            "clock": clock,
            "credentials": credentials,
            "network": network,
        }
        self._transport = sender or _build_transport(config, self._transport_options)
        self._direct = RawApi(self._transport)
        self._api: Api = self._direct

    @classmethod
    def from_api(cls, api: Api, config: ClusterConfig) -> Self:
        """A client whose verbs go through another `Api`, such as an intercepting one."""
        client = cls(config)
        client._api = api
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    @property
    def raw(self) -> Api:
        """The verbs on bytes."""
        return self._api

    @property
    def namespace(self) -> str:
        """The namespace the configuration names."""
        return self.config.namespace

    def impersonate(self, impersonation: Impersonation) -> "Client":
        """A client of the same server that impersonates another user; close it separately."""
        return Client(
            msgspec.structs.replace(self.config, impersonate=impersonation),
            **self._transport_options,
        )

    def resource(self, gvr: GVR) -> ResourceClient:
        """The verbs on dictionaries."""
        return ResourceClient(self._api, gvr)

    async def discover_resource(self, gvk: GVK) -> tuple[ResourceClient, ApiResource]:
        """The verbs on dictionaries for a kind, found by discovery."""
        found = await self._api.discover_resource(gvk)
        return self.resource(found.gvr), found

    async def list_resources_in_category(self, category: str) -> list[ApiResource]:
        """What a server lists under a category such as `all`."""
        return await self._direct.discovery.list_category(category)

    async def list_resources(self) -> list[ApiResource]:
        """Every resource of the server that can be listed."""
        return await self._direct.discovery.list_resources()

    async def discover_resource_by_name(self, name: str) -> tuple[ResourceClient, ApiResource]:
        """The verbs on dictionaries for a resource as users name it: `pods`, `deploy`, `apps`."""
        found = await self._direct.discovery.find_by_name(name)
        return self.resource(found.gvr), found

    async def get(
        self,
        kind: type[Kind],
        name: str,
        namespace: str = "",
        options: GetOptions = GetOptions(),
    ) -> Kind:
        """One object. Raises `NotFound`."""
        return decode(kind, await self._api.get(_build_path(kind, namespace, name), options))

    async def iterate_pages(
        self, kind: type[Kind], namespace: str = "", options: ListOptions = ListOptions()
    ) -> AsyncIterator[list[Kind]]:
        """Every object, a page at a time, all at one resource version."""
        async for page in pager.iterate_pages(self._api, _build_path(kind, namespace), options):
            yield [decode(kind, item) for item in page.items]

    async def list(
        self, kind: type[Kind], namespace: str = "", options: ListOptions = ListOptions()
    ) -> list[Kind]:
        """Every object, all at one resource version."""
        return [
            item async for page in self.iterate_pages(kind, namespace, options) for item in page
        ]

    @asynccontextmanager
    async def watch(
        self, kind: type[Kind], namespace: str = "", options: ListOptions = ListOptions()
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Events until the server ends the stream; an ERROR event is raised as its class.

        This is one stream. What must survive cuts and 410s uses the runtime's informer.
        """
        async with (
            self._api.watch(_build_path(kind, namespace), options) as lines,
            aclosing(_decode_events(kind, lines)) as events,
        ):
            yield events

    async def create(
        self, obj: Kind, namespace: str = "", options: CreateOptions = CreateOptions()
    ) -> Kind:
        """Add an object; returns what was stored."""
        path = _build_path(type(obj), namespace or obj.metadata.namespace)
        return decode(type(obj), await self._api.create(path, encode(obj), options))

    async def update(self, obj: Kind, *, manager: str = "") -> Kind:
        """Update an object that was read before: sends only the difference to what was read.

        Raises:
            Conflict: if the object has changed since it was read.
            ValueError: if the object was not read from a server.
        """
        return await self._update(obj, subresource="", manager=manager)

    async def update_status(self, obj: Kind, *, manager: str = "") -> Kind:
        """The same for the status subresource."""
        return await self._update(obj, subresource="status", manager=manager)

    async def _update(self, obj: Kind, *, subresource: str, manager: str) -> Kind:
        origin = get_raw(obj)
        if origin is None:
            raise ValueError(f"{obj.kind} {obj.key} was not read from a server; create or apply it")
        before = json.decode(origin)
        patch = merge_patch.create(before, to_document(obj))
        if not patch:
            return obj
        metadata = patch.setdefault("metadata", {})
        metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
        return await self.patch(obj, patch, subresource=subresource, manager=manager)

    async def patch(
        self,
        obj: Kind,
        patch: object,
        *,
        kind: PatchType = PatchType.MERGE,
        subresource: str = "",
        manager: str = "",
    ) -> Kind:
        """Change an object by one of the four kinds of patch."""
        path = _build_path(type(obj), *obj.key, subresource)
        options = PatchOptions(field_manager=manager)
        return decode(type(obj), await self._api.patch(path, json.encode(patch), kind, options))

    async def apply(
        self,
        obj: Kind,
        *,
        manager: str,
        force: bool = False,
        dry_run: bool = False,
        subresource: str = "",
    ) -> Kind:
        """Server-side apply of exactly the fields the object sets.

        Raises:
            Conflict: if others own some of them and `force` is off; the causes name them.
        """
        options = PatchOptions(
            field_manager=manager,
            force=force or None,
            dry_run=("All",) if dry_run else (),
        )
        path = _build_path(type(obj), *obj.key, subresource)
        answer = await self._api.patch(path, encode(obj), PatchType.APPLY, options)
        return decode(type(obj), answer)

    async def delete(
        self,
        kind: type[Object] | Object,
        name: str = "",
        namespace: str = "",
        options: DeleteOptions = DeleteOptions(),
    ) -> None:
        """Remove an object by name, or exactly the one that was read (its uid must match)."""
        if isinstance(kind, Object):
            name, namespace = kind.metadata.name, kind.metadata.namespace
            if kind.metadata.uid and options.preconditions is None:
                precondition = Preconditions(uid=kind.metadata.uid)
                options = msgspec.structs.replace(options, preconditions=precondition)
            kind = type(kind)
        await self._api.delete(_build_path(kind, namespace, name), options)

    async def delete_collection(
        self,
        kind: type[Object],
        namespace: str = "",
        selection: ListOptions = ListOptions(),
        options: DeleteOptions = DeleteOptions(),
    ) -> None:
        """Remove every object of a kind that the selection names, by one request."""
        await self._api.delete_collection(_build_path(kind, namespace), selection, options)

    async def get_scale(self, kind: type[Object], name: str, namespace: str = "") -> Scale:
        """Desired and current replicas of an object. Raises `NotFound` if its kind has no scale."""
        return _parse_scale(await self._api.get(_build_path(kind, namespace, name, "scale")))

    async def scale(
        self, kind: type[Object], name: str, namespace: str = "", *, replicas: int
    ) -> Scale:
        """Set the desired number of replicas; nothing else changes."""
        path, body = _build_path(kind, namespace, name, "scale"), {"spec": {"replicas": replicas}}
        return _parse_scale(await self._api.patch(path, json.encode(body), PatchType.MERGE))

    async def get_server_version(self) -> dict[str, Any]:
        """The version of the server. Raises `InvalidResponse` if it is not an API server."""
        body = await self._direct.read_path("/version")
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise InvalidResponse(
                f"GET {self.config.server}/version: not a response of a Kubernetes API server, "
                f"check the address: {error}"
            ) from error


def _build_transport(config: ClusterConfig, options: _TransportOptions) -> Sender:
    from quarterdeck.client.transport import Transport  # loads asyncio, which is slow

    return Transport(config, **options)


async def _decode_events(
    kind: type[Object], lines: AsyncIterator[bytes]
) -> AsyncGenerator[Event, None]:
    async for line in lines:
        event = decode_event(line)
        match event.type:
            case EventType.ERROR:
                raise from_status(json.decode(event.body))
            case EventType.BOOKMARK:
                continue
            case _:
                yield Event(EventType(event.type), decode(kind, event.body))


def _parse_scale(answer: bytes) -> Scale:
    found = json.decode(answer)
    status = found.get("status") or {}
    spec_replicas = (found.get("spec") or {}).get("replicas", 0)
    return Scale(spec_replicas, status.get("replicas", 0), status.get("selector", ""))


def _build_path(
    kind: type[Object], namespace: str, name: str = "", subresource: str = ""
) -> ResourcePath:
    info = kind.KIND
    return ResourcePath(
        *info.gvr, namespace if info.is_namespaced else "", name, subresource if name else ""
    )
