"""Normalizes object metadata inside custom resources as Go's ObjectMeta does.

The root and every embedded resource have metadata that no schema declares. Unknown members are
dropped and reported, members of a wrong type refused, empty ones left out.
"""

from collections.abc import Iterator
from typing import Any

from quarterdeck.meta import builtins, names
from quarterdeck.meta.builtins import diagnosis
from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.meta.identity import GroupVersion
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.schema import Node
from quarterdeck.server.registry import metadata_validation as rules
from quarterdeck.server.registry.plain_metadata import is_plain, sort_plain
from quarterdeck.server.registry.resource import Object

_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_TYPE = "#meta/v1.ObjectMeta"
_NESTED = ("ownerReferences", "managedFields")
"""Members of the metadata with structs in them, which may have unknown members too."""
_NO_TEXT = "must be a string"


class InvalidMetadata(ValueError):
    """Raised when the type or metadata of an object cannot be decoded; the text is Go's."""


def coerce_metadata(value: Object, path: str = "") -> list[str]:
    """Normalize `value["metadata"]` in place; returns the paths of unknown members.

    Raises:
        InvalidMetadata: if a member has a wrong type.
    """
    metadata = value.get("metadata")
    if metadata is None:
        if "metadata" in value:
            value["metadata"] = {}  # Go reads null as empty metadata
        return []
    if is_plain(metadata):
        value["metadata"] = sort_plain(metadata)
        return []
    decoded = builtins.decode_type(metadata, _NAME)
    if decoded.error is not None:
        raise InvalidMetadata(decoded.error)
    shaped = decoded.object
    if shaped.get("creationTimestamp") is None:
        shaped.pop("creationTimestamp", None)
    value["metadata"] = shaped
    if shaped.keys() >= metadata.keys() and _keeps_nested(shaped, metadata):
        return []
    place = f"{path}.metadata" if path else "metadata"
    return diagnosis.find_unknown_fields(metadata, _TYPE, path=place)


def coerce_embedded(value: Object, path: str) -> list[str]:
    """Normalize the metadata of an embedded resource, as `coerce_metadata` does.

    Raises:
        InvalidMetadata: if its type or metadata cannot be decoded; the text begins with the place.
    """
    for member in ("apiVersion", "kind"):
        if not isinstance(value.get(member, ""), str):
            raise InvalidMetadata(invalid(f"{path}.{member}", value[member], _NO_TEXT))
    try:
        return coerce_metadata(value, path)
    except InvalidMetadata as error:
        place = f"{path}.metadata"
        raise InvalidMetadata(invalid(place, value["metadata"], str(error))) from error


def _keeps_nested(shaped: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Whether decoding dropped no member of owner references and managedFields."""
    return all(shaped.get(name) == metadata.get(name) for name in _NESTED)


def find_embedded(node: Node, value: Any, path: str = "") -> Iterator[tuple[str, Object]]:
    """Find every embedded resource in a value, with its place."""
    if isinstance(value, dict):
        if node.embedded_resource:
            yield path, value
        for key, member in value.items():
            child = node.properties.get(key)
            if child is not None:
                yield from find_embedded(child, member, f"{path}.{key}" if path else key)
            elif isinstance(node.additional, Node):
                yield from find_embedded(node.additional, member, f"{path}[{key}]")
    elif isinstance(value, list) and node.items is not None:
        for index, member in enumerate(value):
            yield from find_embedded(node.items, member, f"{path}[{index}]")


def has_embedded(node: Node) -> bool:
    """Whether a schema declares embedded resources anywhere."""
    return (
        node.embedded_resource
        or any(has_embedded(child) for child in node.properties.values())
        or (isinstance(node.additional, Node) and has_embedded(node.additional))
        or (node.items is not None and has_embedded(node.items))
    )


def validate_embedded(path: str, value: Object) -> Iterator[FieldError]:
    """Find what is wrong with the type and metadata of one embedded resource."""
    for member in ("apiVersion", "kind"):
        if member not in value:
            yield required(
                f"{path}.{member}", "" if has_feature("NewerMessages") else "must not be empty"
            )
    yield from _validate_version(value.get("apiVersion", "v1"), f"{path}.apiVersion")
    yield from _validate_kind(value.get("kind", "Kind"), f"{path}.kind")
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        named = {"name": "fakename", **metadata}
        for error in rules.validate_metadata(
            named, _validate_segment, namespaced=bool(named.get("namespace"))
        ):
            yield _move_error(error, path)


def _move_error(error: FieldError, path: str) -> FieldError:
    return FieldError(
        type=error.type, field=f"{path}.{error.field}", value=error.value, detail=error.detail
    )


def _validate_segment(name: str, *, is_prefix: bool) -> list[str]:
    return names.check_object_name("path", name, is_prefix=is_prefix)


def _validate_version(value: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield invalid(path, value, _NO_TEXT)
    elif not value:
        yield invalid(path, value, "must not be empty")
    else:
        try:
            GroupVersion.parse(value)
        except ValueError as error:
            yield invalid(path, value, str(error))


def _validate_kind(value: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield invalid(path, value, _NO_TEXT)
    elif not value:
        yield invalid(path, value, "must not be empty")
    elif problems := names.check_dns1035_label(value.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(problems)
        yield invalid(path, value, text)
