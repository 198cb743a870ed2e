"""Reads and writes of one reconcile: caches first, own writes visible at once, all of it recorded.

A kind that is watched is read from its cache; any other is read live, so no read ever starts a
cluster-wide cache by accident. After a write the answer is put into the cache before the call
returns: the next read of that object is never older than the write.
"""

import contextlib
import re
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from quarterdeck.client.interfaces import Api, ApiResource, PatchType
from quarterdeck.meta.identity import GVK, Key
from quarterdeck.meta.objects import Object, decode, get_raw, to_builtins, to_document
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.event import Author
from quarterdeck.runtime.cache.labels import parse_selector
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot, parse_version, read_head
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.controller_metrics import ControllerMetrics
from quarterdeck.runtime.reconcile.apply import is_apply_redundant
from quarterdeck.runtime.reconcile.journal import Read, Write, truncate_body
from quarterdeck.wire import merge_patch
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    Preconditions,
)
from quarterdeck.wire.status import Conflict, NotFound

T = TypeVar("T", bound=Object)

_SERVER_METADATA = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"),
    *("deletionGracePeriodSeconds", "managedFields", "selfLink"),
)
_PAGE = 500
_UID_DIFFERS = re.compile(r"UID in (the )?precondition")
"""The message of API servers when an object was replaced by another of its name."""


Objects = list[T]
"""A list of objects; inside `ReconcileClient` the name `list` is a verb."""


class Shared(msgspec.Struct, frozen=True):
    """What all reconciles of a controller use to reach the API."""

    api: Api
    informers: InformerFactory
    field_manager: str
    metrics: ControllerMetrics


class ReconcileClient:
    """The API as one reconcile sees it."""

    def __init__(self, shared: Shared, author: Author) -> None:
        self._shared = shared
        self._author = author
        self.reads: list[Read] = []
        self.writes: list[Write] = []

    # --- reads

    async def find(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """The object, or None if there is none."""
        key = Key(namespace if kind.KIND.is_namespaced else "", name)
        informer = self._shared.informers.find(kind)
        if informer is not None:
            found = informer.cache.get(key)
            version = parse_version(found.metadata.resource_version) if found is not None else 0
            self.reads.append(Read(kind.__name__, key, version, "cache"))
            return found
        try:
            return await self.get_live(kind, key)
        except NotFound:
            self.reads.append(Read(kind.__name__, key, 0, "live"))
            return None

    async def get_live(self, kind: type[T], key: Key) -> T:
        """The object from the server, past any cache. Raises `NotFound`."""
        data = await self._shared.api.get(build_path(kind, key), GetOptions())
        found = decode(kind, data)
        version = parse_version(found.metadata.resource_version)
        self.reads.append(Read(kind.__name__, key, version, "live"))
        return found

    async def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        labels: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[T]:
        """Objects of a kind, from its cache if watched, else page by page from the server."""
        informer = self._shared.informers.find(kind)
        if informer is not None:
            selector = parse_selector(labels) if labels else None
            version = informer.cache.version(namespace or "")
            self.reads.append(Read(kind.__name__, None, version, "cache"))
            return informer.cache.list(namespace=namespace, selector=selector, index=index)
        if index is not None:
            raise LookupError(
                f"{kind.__name__} has no index {index[0]!r}: no controller watches it"
            )
        return await self._list_live(kind, namespace or "", labels)

    async def list_owned(self, kind: type[T], owner: Object) -> Objects[T]:
        """The objects of a kind that name `owner` among their owners."""
        informer = self._shared.informers.find(kind)
        if informer is not None:
            version = informer.cache.version(owner.metadata.namespace)
            self.reads.append(Read(kind.__name__, None, version, "cache"))
            return [each.typed(kind) for each in informer.cache.list_owned_by(owner.metadata.uid)]
        namespace = owner.metadata.namespace if kind.KIND.is_namespaced else ""
        found = await self._list_live(kind, namespace, "")
        uid = owner.metadata.uid
        return [
            each for each in found if any(ref.uid == uid for ref in each.metadata.owner_references)
        ]

    async def _list_live(self, kind: type[T], namespace: str, labels: str) -> Objects[T]:
        path, token = build_path(kind, Key(namespace, "")), ""
        found: Objects[T] = []
        while True:
            options = ListOptions(label_selector=labels, limit=_PAGE, continue_=token)
            page = await self._shared.api.list(path, options)
            found.extend(decode(kind, item) for item in page.items)
            if not (token := page.continue_):
                version = parse_version(page.resource_version)
                self.reads.append(Read(kind.__name__, None, version, "live"))
                return found

    # --- writes

    async def apply(self, kind: type[T], desired: Mapping[str, Any], *, force: bool = True) -> T:
        """Server-side apply of exactly the fields in `desired`; skipped when it changes nothing."""
        key = _get_key(desired)
        current = self._get_cached(kind, key)
        manager = self._shared.field_manager
        if current is not None and is_apply_redundant(desired, current.document, manager=manager):
            self._shared.metrics.skipped_writes.value += 1
            self.writes.append(Write("skipped", kind.__name__, key, current.version, b""))
            return current.typed(kind)
        return decode(
            kind, await self.apply_bytes(kind, key, msgspec.json.encode(desired), force=force)
        )

    async def apply_bytes(
        self,
        kind: type[Object],
        key: Key,
        body: bytes,
        *,
        subresource: str = "",
        force: bool = True,
    ) -> bytes:
        """Server-side apply of an encoded configuration; it is sent even if it changes nothing."""
        path = build_path(kind, key, subresource)
        options = PatchOptions(field_manager=self._shared.field_manager, force=force)
        verb = f"apply {subresource}".rstrip()
        return await self._send(
            kind,
            key,
            verb,
            body,
            self._shared.api.patch(path, body, PatchType.APPLY, options),
        )

    async def create(self, obj: T) -> T:
        """POST; raises `AlreadyExists`."""
        kind, body = type(obj), msgspec.json.encode(to_builtins(obj))
        path = build_path(kind, Key(obj.metadata.namespace, ""))
        options = CreateOptions(field_manager=self._shared.field_manager)
        answer = await self._send(
            kind, obj.key, "create", body, self._shared.api.create(path, body, options)
        )
        return decode(kind, answer)

    async def update(self, obj: T, *, subresource: str = "") -> T:
        """Send what changed since `obj` was read, with its version as precondition.

        Fields our types do not know stay as they are. Raises `Conflict` if the object was
        changed by others.
        """
        origin = get_raw(obj)
        if origin is None:
            raise ValueError(
                f"{type(obj).__name__} {obj.key} was not read from the server: use create or apply"
            )
        patch = merge_patch.create(msgspec.json.decode(origin), to_document(obj))
        return await self.merge(type(obj), obj.key, patch, obj.resource_version, subresource)

    async def merge(
        self,
        kind: type[T],
        key: Key,
        patch: object,
        resource_version: str = "",
        subresource: str = "",
    ) -> T:
        """JSON merge patch, with an optional version as precondition; an empty one is skipped."""
        if not patch:
            self._shared.metrics.skipped_writes.value += 1
            current = self._get_cached(kind, key)
            return current.typed(kind) if current else await self.get_live(kind, key)
        assert isinstance(patch, dict)
        if resource_version:
            metadata = {**patch.get("metadata", {}), "resourceVersion": resource_version}
            patch = {**patch, "metadata": metadata}
        body = msgspec.json.encode(patch)
        path = build_path(kind, key, subresource)
        options = PatchOptions(field_manager=self._shared.field_manager)
        answer = await self._send(
            kind,
            key,
            "patch",
            body,
            self._shared.api.patch(path, body, PatchType.MERGE, options),
        )
        return decode(kind, answer)

    async def delete(
        self, obj: Object, *, propagation: str | None = None, grace_s: int | None = None
    ) -> None:
        """Delete this object, not a later one of its name; an absent object is not an error."""
        kind, key = type(obj), obj.key
        options = DeleteOptions(
            preconditions=Preconditions(uid=obj.metadata.uid) if obj.metadata.uid else None,
            propagation_policy=propagation,
            grace_period_seconds=grace_s,
        )
        informer = self._shared.informers.find(kind)
        cache = informer.cache if informer is not None else None
        self._shared.metrics.writes.value += 1
        with cache.hold_events(key) if cache is not None else contextlib.nullcontext():
            try:
                answer = await self._shared.api.delete(build_path(kind, key), options)
            except NotFound:
                self._record_absence(cache, key, obj.metadata.uid)
                return
            except Conflict as error:
                if not _UID_DIFFERS.search(error.message):
                    raise
                self._record_absence(cache, key, obj.metadata.uid)
                return
            version = self._record_deletion(kind, key, obj.metadata.uid, answer)
        self.writes.append(Write("delete", kind.__name__, key, version, b""))

    def _record_absence(self, cache: Cache[Any] | None, key: Key, uid: str) -> None:
        """Hide an object from readers that another client has deleted."""
        if cache is not None and uid:
            cache.record_deletion(key, uid)

    def _record_deletion(self, kind: type[Object], key: Key, uid: str, answer: bytes) -> int:
        head = read_head(answer)
        informer = self._shared.informers.find(kind)
        if informer is not None and head.kind != "Status" and _is_terminating(head.metadata):
            informer.cache.record_write(answer, self._author)
        elif informer is not None:
            informer.cache.record_deletion(key, uid, self._author)
        return parse_version(head.metadata.resource_version or "0")

    async def apply_document(
        self, manifest: Mapping[str, Any], *, force: bool = True
    ) -> dict[str, Any]:
        """Apply an object of a kind without a type; discovery finds its resource."""
        gvk, resource = await self._find_resource(manifest)
        key = _get_key(manifest)
        path = ResourcePath(*resource.gvr, key.namespace if resource.namespaced else "", key.name)
        body = msgspec.json.encode(manifest)
        options = PatchOptions(field_manager=self._shared.field_manager, force=force)
        self._shared.metrics.writes.value += 1
        answer = await self._shared.api.patch(path, body, PatchType.APPLY, options)
        version = parse_version(read_head(answer).metadata.resource_version)
        shown = truncate_body(gvk.kind, body)
        self.writes.append(Write("apply", gvk.kind, key, version, shown))
        stored: dict[str, Any] = msgspec.json.decode(answer)
        return stored

    async def is_namespaced(self, manifest: Mapping[str, Any]) -> bool:
        """Whether objects of a kind without a type have a namespace."""
        _, resource = await self._find_resource(manifest)
        return resource.namespaced

    async def _find_resource(self, manifest: Mapping[str, Any]) -> tuple[GVK, ApiResource]:
        gvk = GVK.of(manifest["apiVersion"], manifest["kind"])
        return gvk, await self._shared.api.discover_resource(gvk)

    async def _send(
        self,
        kind: type[Object],
        key: Key,
        verb: str,
        body: bytes,
        request: Coroutine[Any, Any, bytes],
    ) -> bytes:
        informer = self._shared.informers.find(kind)
        self._shared.metrics.writes.value += 1
        if informer is None:
            answer = await request
            stored = Snapshot.of(answer)
        else:
            cache = informer.cache
            cache.begin_write(key)
            try:
                answer = await request
                stored = cache.record_write(answer, self._author)
            finally:
                cache.end_write(key)
        shown = truncate_body(kind.__name__, body)
        self.writes.append(Write(verb, kind.__name__, stored.key, stored.version, shown))
        return answer

    def _get_cached(self, kind: type[Object], key: Key) -> Snapshot | None:
        informer = self._shared.informers.find(kind)
        return informer.cache.snapshot(key) if informer is not None else None


def _is_terminating(metadata: Metadata) -> bool:
    """Whether a deleted object still exists: for finalizers, or until its grace period ends.

    A Namespace has neither in its metadata; the grace period of what is gone is zero.
    """
    if not metadata.deletion_timestamp:
        return False
    return bool(metadata.finalizers) or metadata.deletion_grace_period_seconds != 0


def build_path(kind: type[Object], key: Key, subresource: str = "") -> ResourcePath:
    """The path of an object of a kind."""
    group, version, resource = kind.KIND.gvr
    namespace = key.namespace if kind.KIND.is_namespaced else ""
    return ResourcePath(group, version, resource, namespace, key.name, subresource)


def build_apply_configuration(obj: Object) -> dict[str, Any]:
    """What an apply of a typed object names: no status, nothing the server sets."""
    desired = to_builtins(obj)
    desired["apiVersion"], desired["kind"] = obj.KIND.api_version, obj.KIND.kind
    metadata = desired.setdefault("metadata", {})
    for name in _SERVER_METADATA:
        metadata.pop(name, None)
    if obj.KIND.subresource_status:
        desired.pop("status", None)
    return desired


def _get_key(manifest: Mapping[str, Any]) -> Key:
    metadata = manifest["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])
