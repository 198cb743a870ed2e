"""Encodes objects in other forms: Tables and PartialObjectMetadata."""

from typing import Any

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.server.request.negotiation import Choice, Form
from quarterdeck.wire.status import ApiError, NotAcceptable


def encode_form(core: Core, resource: Resource, value: Object, choice: Choice) -> bytes:
    """Encode one object in the form the client chose."""
    match choice.form:
        case Form.OBJECT:
            return kit_json.encode(value)
        case Form.METADATA:
            return kit_json.encode(build_partial(value, choice.version))
        case Form.TABLE:
            metadata = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
            rows = [build_row(core, resource, value, choice=choice)]
            return kit_json.encode(build_table(resource, rows, metadata, version=choice.version))


def check_single(resource: Resource, choice: Choice) -> None:
    """Refuse the form PartialObjectMetadataList for a single object.

    Raises:
        ApiError: 500 for a custom kind, as in Kubernetes.
        NotAcceptable: for a built-in kind.
    """
    if choice.form is not Form.METADATA or not choice.is_list:
        return
    if resource.is_custom:
        raise ApiError("content is not a list", code=500)
    raise NotAcceptable(
        "you requested PartialObjectMetadataList, but the requested object is not a list"
        f" (*{_get_go_package(resource)}.{resource.kind})"
    )


def check_listed(resource: Resource, choice: Choice) -> None:
    """Refuse the form PartialObjectMetadata for a list.

    Raises:
        NotAcceptable: naming the type of the list.
    """
    if choice.form is not Form.METADATA or choice.is_list:
        return
    listed = f"{_get_go_package(resource)}.{resource.list_kind}"
    if resource.is_custom:
        listed = "unstructured.UnstructuredList"
    raise NotAcceptable(
        f"you requested PartialObjectMetadata, but the requested object is a list (*{listed})"
    )


def _get_go_package(resource: Resource) -> str:
    """Return the Go package of a built-in kind, as messages of Kubernetes name it."""
    group = resource.gvr.group.partition(".")[0]
    return "core" if group in ("", "events") else group


def build_partial(value: Object, version: str = "v1") -> Object:
    """Build the PartialObjectMetadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": value["metadata"],
    }


def build_row(
    core: Core, resource: Resource, value: Object, *, choice: Choice, include: str = "Metadata"
) -> dict[str, Any]:
    """Build one row of a Table; `include` is the client's `includeObject`."""
    result: dict[str, Any] = {"cells": list(resource.strategy.build_cells(value, core.clock.now()))}
    match include:
        case "None":
            result["object"] = None
        case "Object":
            result["object"] = value
        case _:
            result["object"] = build_partial(value, choice.version)
    return result


def build_table(
    resource: Resource,
    rows: list[dict[str, Any]],
    metadata: dict[str, Any],
    *,
    version: str,
    with_columns: bool = True,
) -> dict[str, Any]:
    """Build a Table of rows."""
    columns = build_columns(resource) if with_columns else None
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }


def build_columns(resource: Resource) -> list[Any]:
    """Build the column definitions of a Table."""
    return [msgspec.to_builtins(column) for column in resource.strategy.columns]
