"""What the runtime needs of a client, as small Protocols named by capability.

Bytes in, bytes out: the watch path never pays for a typed decode it does not need, and the
typed verbs of `Client` stand on the same few calls. `Client.raw` implements `Api`; tests and
the intercepting client implement whichever part they replace.

Every call raises a class of `wire.status` when the server answered with a failure, and a
`client.errors.ClientError` when it did not answer at all (refused, timed out, cut).
"""

import enum
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

import msgspec

from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    UpdateOptions,
)


class Form(enum.Enum):
    """How much of each object a read returns."""

    FULL = "full"
    METADATA = "metadata"
    """`PartialObjectMetadata`, requested by the Accept header: for kinds that are only counted."""


class PatchType(enum.Enum):
    """The four patches of Kubernetes, by their media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class ListPage(msgspec.Struct, frozen=True):
    """One page of a list; `items` are the encoded objects, undecoded.

    Items of a list carry no `apiVersion` and `kind` of their own on some servers: `api_version`
    and `kind` are those of the *items* (the list's kind without its `List`).
    """

    items: Sequence[bytes]
    resource_version: str
    continue_: str = ""
    remaining: int | None = None
    api_version: str = ""
    kind: str = ""


class ApiResource(msgspec.Struct, frozen=True):
    """One resource, as discovery lists it."""

    gvr: GVR
    gvk: GVK
    namespaced: bool
    subresources: frozenset[str] = frozenset()
    """`status`, `scale`, …"""
    categories: tuple[str, ...] = ()
    """Names of groups of kinds, such as `all`."""


class Exchange(msgspec.Struct, frozen=True):
    """One finished request, for metrics, traces and the recorder of permissions."""

    verb: str
    """Kubernetes' verb: get, list, watch, create, update, patch, delete, deletecollection."""
    method: str
    host: str
    path: ResourcePath
    code: int
    """The HTTP status, or 0 when no answer came."""
    duration_s: float
    request_bytes: int
    response_bytes: int
    """-1 while a stream is open."""


class Reader(Protocol):
    """Reads objects as bytes."""

    async def get(self, path: ResourcePath, options: GetOptions = ..., /) -> bytes:
        """One object. Raises `NotFound` when it is absent."""
        ...

    async def list(
        self, path: ResourcePath, options: ListOptions, /, *, form: Form = Form.FULL
    ) -> ListPage:
        """One page; the caller follows `continue_`. Raises `Expired` when the token is too old."""
        ...


class Watcher(Protocol):
    """Opens watches."""

    def watch(
        self, path: ResourcePath, options: ListOptions, /, *, form: Form = Form.FULL
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A stream of complete lines, each one frame; ends when the server closes it.

        Entering raises what the server answered. A partial line at the end is dropped, lines
        have no length limit, and leaving the context closes the connection. There is no read
        time-out here: the reflector decides when a silent watch is broken.
        """
        ...


class Writer(Protocol):
    """Writes objects as bytes; each call returns what the server stored.

    A subresource is named in the path (`status`, `scale`).
    """

    async def create(
        self, path: ResourcePath, body: bytes, options: CreateOptions = ..., /
    ) -> bytes:
        """POST to the collection the path names."""
        ...

    async def update(
        self, path: ResourcePath, body: bytes, options: UpdateOptions = ..., /
    ) -> bytes:
        """PUT. The body's resourceVersion, when set, is the precondition."""
        ...

    async def patch(
        self, path: ResourcePath, body: bytes, kind: PatchType, options: PatchOptions = ..., /
    ) -> bytes:
        """PATCH. An apply needs `field_manager` in the options."""
        ...

    async def delete(self, path: ResourcePath, options: DeleteOptions = ..., /) -> bytes:
        """DELETE one object; returns the object or a Status, as the server sent it."""
        ...


class CollectionWriter(Protocol):
    """Deletes many objects by one request."""

    async def delete_collection(
        self, path: ResourcePath, selection: ListOptions = ..., options: DeleteOptions = ..., /
    ) -> bytes:
        """DELETE what a selection names; returns a list of it, or a Status."""
        ...


class Discoverer(Protocol):
    """Finds what a server serves."""

    async def discover_resource(self, gvk: GVK, /, *, fresh: bool = False) -> ApiResource:
        """The resource of a kind, remembered. Raises `NotFound` while its CRD is absent.

        A miss is not remembered; `fresh` asks the server again.
        """
        ...


@runtime_checkable
class Observer(Protocol):
    """Called for every request: metrics, traces and the recorder of permissions are observers."""

    def before(self, verb: str, path: ResourcePath, /) -> Sequence[tuple[str, str]]:
        """Called before sending; returns headers to add (`traceparent`), usually none."""
        ...

    def after(self, exchange: Exchange, /) -> None:
        """Called when the answer's head arrived or the request failed. Must not raise."""
        ...


class Api(Reader, Watcher, Writer, CollectionWriter, Discoverer, Protocol):
    """All requests that the runtime makes to an API server."""

    def observe(self, observer: Observer, /) -> None:
        """Add an observer of all later requests."""
        ...


class HasApi(Protocol):
    """A typed client; the manager needs only its `raw`."""

    @property
    def raw(self) -> Api:
        """The verbs on bytes, which the typed verbs use."""
        ...
