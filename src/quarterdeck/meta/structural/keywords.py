"""Which OpenAPI keywords a definition may use, and how Kubernetes' own must be combined."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from quarterdeck.meta.field import (
    Bare,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from quarterdeck.meta.structural.shape import find_items

Document = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = frozenset({"metadata", "kind", "apiVersion"})
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """What the context of a node forbids."""

    no_default: str = ""
    in_metadata: bool = False


def check_keywords(document: Document, path: str) -> list[FieldError]:
    """Find keywords that are unsupported or wrongly combined, in the order of the schema."""
    return list(_walk(document, path, _Place(), is_root=True))


def _walk(node: Document, path: str, place: _Place, *, is_root: bool) -> Iterator[FieldError]:
    yield from _check_standard_keywords(node, path, place)
    if node.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", text)
    yield from _check_additional(node, path, place)
    yield from _check_properties(node, path, place, is_root=is_root)
    for name, part in _iterate_combinators(node):
        yield from _walk(part, f"{path}.{name}", place, is_root=False)
    if (items := find_items(node)) is not None:
        yield from _walk(items, f"{path}.items", place, is_root=False)
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        text = "must be true or undefined"
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", value=False, detail=text)
    yield from _check_map_type(node, path)
    yield from _check_list_type(node, path)
    yield from _check_list_keys(node, path)


def _iterate_combinators(node: Document) -> Iterator[tuple[str, Document]]:
    if (refused := node.get("not")) is not None:
        yield "not", refused
    for name in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(node.get(name) or ()):
            yield f"{name}[{index}]", part


def _check_standard_keywords(node: Document, path: str, place: _Place) -> Iterator[FieldError]:
    type_name = node.get("type") or ""
    if type_name and type_name not in _TYPES:
        yield not_supported(f"{path}.type", type_name, _TYPES)
    if node.get("default") is not None and place.no_default:
        yield forbidden(f"{path}.default", f"must not be set {place.no_default}")
    for name in _UNSUPPORTED:
        value = node.get(name)
        if value is not None and (value or name in ("additionalItems", "dependencies", "$ref")):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if type_name == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(f"{path}.type", text)
    if isinstance(node.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_metadata and node.get("x-kubernetes-embedded-resource"):
        text = "must not be used inside of resource meta"
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", text)


def _check_additional(node: Document, path: str, place: _Place) -> Iterator[FieldError]:
    additional = node.get("additionalProperties")
    if additional is None:
        return
    if node.get("properties") and additional is not True:
        text = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", text)
    if isinstance(additional, Mapping):
        if place.in_metadata:
            reason = "inside additionalProperties applying to object metadata"
            place = msgspec.structs.replace(place, no_default=reason)
        yield from _walk(additional, f"{path}.additionalProperties", place, is_root=False)


def _check_properties(
    node: Document, path: str, place: _Place, *, is_root: bool
) -> Iterator[FieldError]:
    embedded = bool(node.get("x-kubernetes-embedded-resource"))
    for key, child in sorted((node.get("properties") or {}).items()):
        below = place
        if (is_root or embedded) and key in _META:
            below = msgspec.structs.replace(below, in_metadata=True)
            if is_root:
                below = msgspec.structs.replace(below, no_default=f"in top-level {key}")
        yield from _walk(child, f"{path}.properties[{key}]", below, is_root=False)


def _check_map_type(node: Document, path: str) -> Iterator[FieldError]:
    map_type = node.get("x-kubernetes-map-type")
    if map_type is None:
        return
    yield from _require_type(node, path, "object", "x-kubernetes-map-type")
    if map_type not in ("atomic", "granular"):
        yield not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))


def _require_type(node: Document, path: str, wanted: str, because: str) -> Iterator[FieldError]:
    type_name = node.get("type") or ""
    if type_name == wanted:
        return
    text = f"must be {wanted} if {because} is specified"
    yield invalid(f"{path}.type", type_name, text) if type_name else required(f"{path}.type", text)


def _check_list_type(node: Document, path: str) -> Iterator[FieldError]:
    list_type = node.get("x-kubernetes-list-type")
    if list_type is None:
        return
    items = find_items(node)
    if node.get("type") != "array":
        yield from _require_type(node, path, "array", "x-kubernetes-list-type")
    elif list_type == "set" and items is not None:
        yield from _check_set_items(items, f"{path}.items")
    if list_type not in ("atomic", "set", "map"):
        choices = ("atomic", "set", "map")
        yield not_supported(f"{path}.x-kubernetes-list-type", list_type, choices)


def _check_set_items(items: Document, path: str) -> Iterator[FieldError]:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    own = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and own not in (None, "atomic"):
        yield invalid(f"{path}.x-kubernetes-list-type", own, text)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(f"{path}.x-kubernetes-map-type", own, text)


def _check_list_keys(node: Document, path: str) -> Iterator[FieldError]:
    list_type, keys = (
        node.get("x-kubernetes-list-type"),
        node.get("x-kubernetes-list-map-keys") or [],
    )
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        place = f"{path}.x-kubernetes-list-type"
        yield required(place, text) if list_type is None else invalid(place, list_type, text)
    if list_type == "map":
        yield from _check_map_list(node, path, keys)
    items = find_items(node)
    if items is not None and list_type in ("set", "map"):
        yield from _check_key_fields(items, path, keys, list_type)


def _check_map_list(node: Document, path: str, keys: list[str]) -> Iterator[FieldError]:
    place = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        yield required(place, "must not be empty if x-kubernetes-list-type is map")
    items = find_items(node)
    if node.get("items") is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if items is None:
        return
    type_name = items.get("type") or ""
    if type_name != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", type_name, text)
        return
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            yield invalid(
                place, _format_go_strings(keys), "entries must all be names of item properties"
            )
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", type_name, text)
        if key in keys[:index]:
            yield invalid(place, _format_go_strings(keys), "must not contain duplicate entries")


def _check_key_fields(
    items: Document, path: str, keys: list[str], list_type: str
) -> Iterator[FieldError]:
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield forbidden(f"{path}.items.nullable", text)
    if list_type != "map":
        return
    because = "this property is in x-kubernetes-list-map-keys, so it"
    for key in keys:
        child = (items.get("properties") or {}).get(key)
        if child is None:
            continue
        place = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and child.get("default") is None:
            text = f"{because} must have a default or be a required property"
            yield required(f"{place}.default", text)
        if child.get("nullable"):
            yield forbidden(f"{place}.nullable", f"{because} cannot be nullable")


def _format_go_strings(texts: list[str]) -> Bare:
    return Bare("[]string{" + ", ".join(quote(text) for text in texts) + "}")
