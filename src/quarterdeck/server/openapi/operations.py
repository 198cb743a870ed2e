"""Builds the paths and operations that kubectl and client generators need.

Each kind has a PATCH with the parameter `fieldValidation`: without it kubectl assumes that the
server cannot validate fields, and fails.
"""

from typing import Any

from quarterdeck.server.openapi.schemas import PREFIX, Components, build_kind_reference
from quarterdeck.server.registry.resource import Resource
from quarterdeck.wire import media
from quarterdeck.wire.path import build_prefix

Document = dict[str, Any]

_BODIES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_WRITE_PARAMETERS = ("pretty", "dryRun", "fieldManager", "fieldValidation")
_LIST_PARAMETERS = (
    "pretty",
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE_PARAMETERS = (
    "pretty",
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
)
_BOOLEANS = frozenset(
    {"allowWatchBookmarks", "force", "orphanDependents", "sendInitialEvents", "watch"}
)
_INTEGERS = frozenset({"gracePeriodSeconds", "limit", "timeoutSeconds"})


def build_paths(resource: Resource, components: Components) -> dict[str, Document]:
    """Build the paths of one resource and of its subresources."""
    name = components.add_resource(resource)
    base = build_prefix(resource.gvr.group, resource.gvr.version)
    inside = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection = f"{inside}/{resource.gvr.resource}"
    found = {
        collection: _build_collection(resource, name, components),
        f"{collection}/{{name}}": _build_item(resource, name, components),
    }
    if resource.namespaced and "list" in resource.verbs:
        everywhere = {"get": _build_operation(resource, "list", f"{name}List", _LIST_PARAMETERS)}
        found[f"{base}/{resource.gvr.resource}"] = everywhere
    for sub in resource.subresources.values():
        if sub.gvk[:2] == resource.gvk[:2] and sub.gvk.kind == resource.kind:
            path = f"{collection}/{{name}}/{sub.name}"
            found[path] = _build_item(resource, name, components, verbs=sub.verbs)
    return {path: item for path, item in found.items() if item}


def _build_collection(resource: Resource, name: str, components: Components) -> Document:
    item: Document = {}
    if "list" in resource.verbs:
        item["get"] = _build_operation(resource, "list", f"{name}List", _LIST_PARAMETERS)
    if "create" in resource.verbs:
        item["post"] = _build_operation(resource, "post", name, _WRITE_PARAMETERS, body=name)
    if "deletecollection" in resource.verbs:
        item["delete"] = _build_operation(
            resource,
            "deletecollection",
            components.add_meta("Status"),
            (*_DELETE_PARAMETERS, "labelSelector", "fieldSelector"),
            body=components.add_meta("DeleteOptions"),
        )
    return _with_path(item, resource, named=False)


def _build_item(
    resource: Resource, name: str, components: Components, *, verbs: tuple[str, ...] | None = None
) -> Document:
    verbs = resource.verbs if verbs is None else verbs
    item: Document = {}
    if "get" in verbs:
        item["get"] = _build_operation(resource, "get", name, ("pretty",))
    if "update" in verbs:
        item["put"] = _build_operation(resource, "put", name, _WRITE_PARAMETERS, body=name)
    if "patch" in verbs:
        item["patch"] = _patch(resource, name)
    if "delete" in verbs:
        item["delete"] = _build_operation(
            resource,
            "delete",
            components.add_meta("Status"),
            _DELETE_PARAMETERS,
            body=components.add_meta("DeleteOptions"),
        )
    return _with_path(item, resource, named=True)


def _with_path(item: Document, resource: Resource, *, named: bool) -> Document:
    if not item:
        return item
    names = (["name"] if named else []) + (["namespace"] if resource.namespaced else [])
    item["parameters"] = [
        {"name": each, "in": "path", "required": True, "schema": {"type": "string"}}
        for each in names
    ]
    return item


def _build_operation(
    resource: Resource,
    action: str,
    answer: str,
    parameters: tuple[str, ...],
    *,
    body: str = "",
) -> Document:
    operation: Document = {
        "parameters": [_build_parameter(each) for each in parameters],
        "responses": {"200": _build_content(answer, _BODIES)},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": build_kind_reference(resource.gvk),
    }
    if body:
        operation["requestBody"] = _build_content(body, _BODIES)
    return operation


def _patch(resource: Resource, name: str) -> Document:
    kinds = [media.JSON_PATCH, media.MERGE_PATCH, media.APPLY_PATCH]
    if not resource.is_custom:
        kinds.append(media.STRATEGIC_MERGE_PATCH)
    operation = _build_operation(resource, "patch", name, (*_WRITE_PARAMETERS, "force"))
    operation["requestBody"] = {"content": {each: {"schema": {"type": "object"}} for each in kinds}}
    return operation


def _build_content(component: str, kinds: tuple[str, ...]) -> Document:
    schema = {"$ref": PREFIX + component}
    return {"description": "OK", "content": {kind: {"schema": schema} for kind in kinds}}


def _build_parameter(name: str) -> Document:
    kind = "boolean" if name in _BOOLEANS else "integer" if name in _INTEGERS else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
