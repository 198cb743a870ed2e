"""Requests as values: every verb becomes method, target, headers and body, without I/O."""

from collections.abc import Sequence

import msgspec

from quarterdeck.client.interfaces import Form, PatchType
from quarterdeck.kit import json
from quarterdeck.wire import media
from quarterdeck.wire.path import ResourcePath, build
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    PodLogOptions,
    UpdateOptions,
)

Headers = Sequence[tuple[str, str]]

_ACCEPT_JSON = (("Accept", media.JSON),)
_ACCEPT_METADATA = (("Accept", f"{media.JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),)
_ACCEPT_METADATA_LIST = (
    ("Accept", f"{media.JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
)
_PATCH_BODY = {kind: (*_ACCEPT_JSON, ("Content-Type", kind.value)) for kind in PatchType}
_JSON_BODY = (*_ACCEPT_JSON, ("Content-Type", media.JSON))


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to an API server."""

    verb: str
    method: str
    path: ResourcePath
    target: str
    headers: Headers = _ACCEPT_JSON
    body: bytes | None = None

    @property
    def is_read(self) -> bool:
        """Whether the request only reads, so that it is safe to repeat."""
        return self.method == "GET"

    @property
    def is_stream(self) -> bool:
        """Whether the response is a stream that may have no end."""
        return self.verb == "watch" or self.path.subresource == "log"


def get(path: ResourcePath, options: GetOptions) -> ApiRequest:
    """Read one object."""
    return ApiRequest(
        verb="get", method="GET", path=path, target=_build_target(path, options.build())
    )


def list_(path: ResourcePath, options: ListOptions, form: Form) -> ApiRequest:
    """Read one page of a collection."""
    return ApiRequest(
        verb="list",
        method="GET",
        path=path,
        target=_build_target(path, options.build()),
        headers=_ACCEPT_METADATA_LIST if form is Form.METADATA else _ACCEPT_JSON,
    )


def watch(path: ResourcePath, options: ListOptions, form: Form) -> ApiRequest:
    """Follow a collection."""
    if not options.watch:
        options = msgspec.structs.replace(options, watch=True)
    return ApiRequest(
        verb="watch",
        method="GET",
        path=path,
        target=_build_target(path, options.build()),
        headers=_ACCEPT_METADATA if form is Form.METADATA else _ACCEPT_JSON,
    )


def read_log(path: ResourcePath, options: PodLogOptions) -> ApiRequest:
    """Read the log of a container; `path` is that of `pods/log`."""
    return ApiRequest(
        verb="get", method="GET", path=path, target=_build_target(path, options.build())
    )


def create(path: ResourcePath, body: bytes, options: CreateOptions) -> ApiRequest:
    """Add an object to a collection; a subresource such as `token` keeps its parent's name."""
    if not path.subresource:
        path = path._replace(name="")
    return ApiRequest(
        verb="create",
        method="POST",
        path=path,
        target=_build_target(path, options.build()),
        headers=_JSON_BODY,
        body=body,
    )


def update(path: ResourcePath, body: bytes, options: UpdateOptions) -> ApiRequest:
    """Replace an object."""
    return ApiRequest(
        verb="update",
        method="PUT",
        path=path,
        target=_build_target(path, options.build()),
        headers=_JSON_BODY,
        body=body,
    )


def patch(path: ResourcePath, body: bytes, kind: PatchType, options: PatchOptions) -> ApiRequest:
    """Change an object."""
    return ApiRequest(
        verb="patch",
        method="PATCH",
        path=path,
        target=_build_target(path, options.build()),
        headers=_PATCH_BODY[kind],
        body=body,
    )


def delete(path: ResourcePath, options: DeleteOptions) -> ApiRequest:
    """Remove one object.

    Raises:
        ValueError: without its name the request would remove all objects of the kind; a proxy
            that resolves dots would remove the collection or namespace above it.
    """
    if path.name in ("", ".", ".."):
        raise ValueError(f"cannot delete an object of {path.resource} with the name {path.name!r}")
    return ApiRequest(
        verb="delete",
        method="DELETE",
        path=path,
        target=build(path),
        headers=_JSON_BODY,
        body=json.encode(options.to_body()),
    )


def delete_collection(
    path: ResourcePath, selection: ListOptions, options: DeleteOptions
) -> ApiRequest:
    """Remove every object that a selection names."""
    return ApiRequest(
        verb="deletecollection",
        method="DELETE",
        path=path,
        target=_build_target(path, selection.build()),
        headers=_JSON_BODY,
        body=json.encode(options.to_body()),
    )


def get_path(target: str, *, accept: str = media.JSON) -> ApiRequest:
    """Read a path without a resource, such as `/version`."""
    return ApiRequest(
        verb="get",
        method="GET",
        path=ResourcePath("", "", ""),
        target=target,
        headers=(("Accept", accept),),
    )


def _build_target(path: ResourcePath, query: str) -> str:
    return f"{build(path)}?{query}" if query else build(path)
