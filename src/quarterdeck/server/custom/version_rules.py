"""Validation of one version of a definition: columns, scale, selectable fields, deprecation."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.meta.field import (
    FieldError,
    duplicate,
    invalid,
    required,
    too_many,
)

Document = Mapping[str, Any]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_SELECTABLE_LIMIT = 8


def validate_deprecation(version: Document, path: str) -> Iterator[FieldError]:
    """Check that only a deprecated version has a deprecation warning."""
    text = version.get("deprecationWarning")
    if text is None:
        return
    if not version.get("deprecated"):
        yield invalid(path, text, "can only be set for deprecated versions")
        return
    if len(text.encode()) > 256:
        yield invalid(path, text, "must be <= 256 characters long")
    if not text:
        yield invalid(path, text, "must not be an empty string")
    for index, character in enumerate(text):
        if not character.isprintable():
            why = "must only contain printable UTF-8 characters; non-printable character found at"
            yield invalid(path, text, f"{why} index {index}")
            break


def validate_subresources(version: Document, path: str) -> Iterator[FieldError]:
    """Paths of the scale subresource."""
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for member, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        text, place = scale.get(member) or "", f"{path}.scale.{member}"
        if not text:
            yield required(place)
        elif not text.startswith("."):
            yield invalid(place, text, "must be a simple json path starting with .")
        elif not text.startswith(root):
            yield invalid(place, text, f"should be a json path under {root[:-1]}")
    text, place = scale.get("labelSelectorPath") or "", f"{path}.scale.labelSelectorPath"
    if text and not text.startswith("."):
        yield invalid(place, text, "must be a simple json path starting with .")
    elif text and not text.startswith((".spec.", ".status.")):
        yield invalid(place, text, "should be a json path under either .spec or .status")


def validate_columns(version: Document, path: str) -> Iterator[FieldError]:
    """Printer columns."""
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        place = f"{path}[{index}]"
        if not column.get("name"):
            yield required(f"{place}.name")
        type_name, shape = column.get("type") or "", column.get("format") or ""
        choices = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not type_name:
            yield required(f"{place}.type", choices)
        elif type_name not in _COLUMN_TYPES:
            yield invalid(f"{place}.type", type_name, choices)
        if shape and shape not in _COLUMN_FORMATS:
            text = f"must be one of {','.join(_COLUMN_FORMATS)}"
            yield invalid(f"{place}.format", shape, text)
        json_path = column.get("jsonPath") or ""
        if not json_path:
            yield required(f"{place}.JSONPath")
        elif not json_path.startswith("."):
            text = "must be a simple json path starting with ."
            yield invalid(f"{place}.JSONPath", json_path, text)


def validate_selectable_fields(version: Document, path: str) -> Iterator[FieldError]:
    """Fields that selectors may name."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, field in enumerate(version.get("selectableFields") or ()):
        place, text = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not text:
            yield required(place)
            continue
        found, why = _find(schema, text)
        if found is None:
            yield invalid(place, text, f"is an invalid path: {why}")
            continue
        if text.startswith(".metadata"):
            yield invalid(place, text, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and"
                " strings with formats are allowed."
            )
            yield invalid(place, text, why)
        if text in seen:
            yield duplicate(place, text)
        seen.add(text)
    if len(seen) > _SELECTABLE_LIMIT:
        yield too_many(path, len(seen), _SELECTABLE_LIMIT)


def _find(schema: Document, path: str) -> tuple[Document | None, str]:
    """Find the schema at a simple path, or the reason why there is none."""
    place: Document = schema
    tokens = iter(re.findall(r"[.\[\]]|[^.\[\]]+", path))
    for token in tokens:
        if token == "[":
            return None, "array notation is not allowed"
        if token != ".":
            return None, f"expected [ or . but got: {token}"
        name = next(tokens, None)
        if name is None:
            return None, "unexpected end of JSON path"
        properties, additional = place.get("properties"), place.get("additionalProperties")
        below = properties.get(name) if properties else additional
        if not isinstance(below, Mapping):
            return None, "does not refer to a valid field"
        place = below
    return place, ""
