"""The rules that make a schema structural: every value has exactly one declared shape.

Types are outside of the combinators (`allOf`, `anyOf`, `oneOf`, `not`), combinators only restrict
declared members, and object metadata is not redefined. The functions read the document, because the
rules also forbid keywords that a `Node` does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from quarterdeck.kit.patterns import PatternError, compile_re2
from quarterdeck.meta.field import FieldError, forbidden, invalid, required

Document = Mapping[str, Any]
Level = Literal["root", "item", "field"]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def check_shape(document: Document, path: str) -> list[FieldError]:
    """Find the errors that make a schema non-structural, sorted by their text as in Kubernetes."""
    found = [
        *_check_invariants(document, path, "root"),
        *_check_completeness(document, document, path, path),
    ]
    return sorted(found, key=str)


def find_items(document: Document) -> Document | None:
    """Return the schema of items; None for a list of schemas, which is refused elsewhere."""
    items = document.get("items")
    return items if isinstance(items, Mapping) else None


def _check_invariants(node: Document, path: str, level: Level) -> Iterator[FieldError]:
    if node.get("type") == "array" and node.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if (items := find_items(node)) is not None:
        yield from _check_invariants(items, f"{path}.items", "item")
    for key, child in (node.get("properties") or {}).items():
        yield from _check_invariants(child, f"{path}.properties[{key}]", "field")
    yield from _check_additional(node, path, level)
    yield from _check_extensions(node, path)
    yield from _check_value_validation(node, path, level, skip=_find_int_or_string(node))
    yield from _check_type(node, path, level)
    yield from _check_metadata(node, path, level)


def _check_additional(node: Document, path: str, level: Level) -> Iterator[FieldError]:
    additional = node.get("additionalProperties")
    if additional is None:
        return
    if level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _check_invariants(additional, f"{path}.additionalProperties", "field")


def _check_extensions(node: Document, path: str) -> Iterator[FieldError]:
    if not node.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if node.get(name):
            text = "must be false if x-kubernetes-int-or-string is true"
            yield invalid(f"{path}.{name}", value=True, detail=text)


def _check_type(node: Document, path: str, level: Level) -> Iterator[FieldError]:
    type_name = node.get("type") or ""
    embedded = bool(node.get("x-kubernetes-embedded-resource"))
    free = node.get("x-kubernetes-int-or-string") or node.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if embedded and type_name != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield (
            invalid(f"{path}.type", type_name, text)
            if type_name
            else required(f"{path}.type", text)
        )
    elif not type_name and not free:
        yield required(f"{path}.type", _EMPTY_TYPE[level])
    if embedded and node.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", text)
    if level == "root" and type_name and type_name != "object":
        yield invalid(f"{path}.type", type_name, "must be object at the root")


def _check_metadata(node: Document, path: str, level: Level) -> Iterator[FieldError]:
    properties = node.get("properties") or {}
    embedded = bool(node.get("x-kubernetes-embedded-resource"))
    checked = level == "root" or embedded
    for key in ("kind", "apiVersion"):
        child = properties.get(key)
        if checked and child is not None and child.get("type") != "string":
            place = f"{path}.properties[{key}].type"
            yield invalid(place, child.get("type") or "", "must be string")
    if (metadata := properties.get("metadata")) is not None:
        place = f"{path}.properties[metadata]"
        if checked and metadata.get("type") != "object":
            yield invalid(f"{place}.type", metadata.get("type") or "", "must be object")
        if level == "root" and not _restricts_names_only(metadata):
            text = (
                "must not specify anything other than name and generateName, but metadata is"
                " implicitly specified"
            )
            yield forbidden(place, text)
    if embedded and not node.get("x-kubernetes-preserve-unknown-fields") and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without"
            " x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", text)


def _restricts_names_only(metadata: Document) -> bool:
    properties = (metadata.get("properties") or {}).keys()
    said = {key for key, value in metadata.items() if value not in (None, "", False, [], {})}
    return properties <= {"name", "generateName"} and said <= {"type", "properties", "default"}


def _find_int_or_string(node: Document) -> Literal["anyOf", "allOf", ""]:
    """Return the combinator in which types are allowed, because they declare int-or-string."""
    if list(node.get("anyOf") or ()) == _INT_OR_STRING:
        return "anyOf"
    all_of: Sequence[Document] = node.get("allOf") or ()
    if all_of and list(all_of[0].get("anyOf") or ()) == _INT_OR_STRING:
        return "allOf"
    return ""


def _check_value_validation(
    node: Document, path: str, level: Level, *, skip: str
) -> Iterator[FieldError]:
    if skip != "anyOf":
        for index, part in enumerate(node.get("anyOf") or ()):
            yield from _check_nested(part, f"{path}.anyOf[{index}]", level)
    for index, part in enumerate(node.get("allOf") or ()):
        inner = "anyOf" if skip == "allOf" and index == 0 else ""
        yield from _check_nested(part, f"{path}.allOf[{index}]", level, skip=inner)
    for index, part in enumerate(node.get("oneOf") or ()):
        yield from _check_nested(part, f"{path}.oneOf[{index}]", level)
    if (refused := node.get("not")) is not None:
        yield from _check_nested(refused, f"{path}.not", level)
    if pattern := node.get("pattern"):
        try:
            compile_re2(pattern)
        except PatternError as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", pattern, text)


_FORBIDDEN_INSIDE = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "externalDocs": "undefined",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}


def _check_nested(
    node: Document, path: str, level: Level, *, skip: str = ""
) -> Iterator[FieldError]:
    yield from _check_value_validation(node, path, level, skip=skip)
    if (items := find_items(node)) is not None:
        yield from _check_nested(items, f"{path}.items", level)
    properties = node.get("properties") or {}
    for key, child in properties.items():
        yield from _check_nested(child, f"{path}.properties[{key}]", "field")
    for name, wanted in _FORBIDDEN_INSIDE.items():
        value = node.get(name)
        if value is not None and (wanted == "undefined" or value):
            yield forbidden(f"{path}.{name}", f"must be {wanted} to be structural")
    if "metadata" in properties:
        text = "must not be specified in a nested context"
        yield forbidden(f"{path}.properties[metadata]", text)


# completeness: members that a combinator names must be declared outside of it ---------------------


def _check_completeness(
    node: Document, declared: Document | None, place: str, path: str
) -> Iterator[FieldError]:
    if (refused := node.get("not")) is not None:
        yield from _check_nested_completeness(refused, declared, place, f"{path}.not")
    for name in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(node.get(name) or ()):
            yield from _check_nested_completeness(part, declared, place, f"{path}.{name}[{index}]")


def _check_nested_completeness(
    node: Document, declared: Document | None, place: str, path: str
) -> Iterator[FieldError]:
    if declared is None:
        yield required(place, f"because it is defined in {path}")
        return
    yield from _check_completeness(node, declared, place, path)
    if (items := find_items(node)) is not None:
        below = find_items(declared)
        yield from _check_nested_completeness(items, below, f"{place}.items", f"{path}.items")
    known = declared.get("properties") or {}
    for key, child in (node.get("properties") or {}).items():
        there, here = f"{place}.properties[{key}]", f"{path}.properties[{key}]"
        yield from _check_nested_completeness(child, known.get(key), there, here)
