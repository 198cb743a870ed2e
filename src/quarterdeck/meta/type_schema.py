"""Python types as schema nodes: the structural schema that a struct declares.

Type, required members and nullability come from the annotation, everything else from the `Schema`
markers on it. Properties are sorted, so that moving a field in the source changes nothing.
"""

import enum
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from quarterdeck.meta.annotations import find_item_type, list_alternatives, unwrap
from quarterdeck.meta.docstrings import describe
from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.meta.schema import Node, Type

_SCALARS: dict[Any, tuple[Type, str]] = {
    str: ("string", ""),
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "double"),
}
_COPIED = tuple(
    field.name
    for field in msgspec.structs.fields(Schema)
    if field.name not in {"default", "required", "items", "enum", "described_by"}
)


class SchemaError(TypeError):
    """Raised when a type cannot be expressed as a structural schema; names the field."""


def build_node(annotation: Any, path: str = "", *, within: tuple[type, ...] = ()) -> Node:
    """Build the schema of an annotation.

    Raises:
        SchemaError: if a type cannot be expressed in a structural schema, or is recursive.
    """
    base, markers = unwrap(annotation)
    described_by = [each.described_by for each in markers if each.described_by is not None]
    node = _build_plain(described_by[-1] if described_by else base, path, within)
    for marker in markers:
        _apply_marker(node, marker, path)
    return node


def _build_plain(base: Any, path: str, within: tuple[type, ...]) -> Node:
    origin = typing.get_origin(base)
    if base in _SCALARS:
        type_, format_ = _SCALARS[base]
        return _build_unmarked(type=type_, format=format_)
    if base in (msgspec.Raw, Any):
        return _build_unmarked(preserve_unknown=True)
    if origin is Literal:
        return _build_unmarked(type="string", enum=typing.get_args(base))
    if (entry := find_item_type(base)) is not None:
        return _build_unmarked(type="array", items=build_node(entry, f"{path}[]", within=within))
    if origin in (Mapping, dict):
        values = build_node(typing.get_args(base)[1], f"{path}[*]", within=within)
        return _build_unmarked(type="object", additional=values)
    if set(list_alternatives(base)) <= {str, int, float}:
        return _build_unmarked()
    if isinstance(base, type):
        return _build_class(base, path, within)
    raise SchemaError(f"{path}: {base!r} has no structural schema")


def _build_class(base: type, path: str, within: tuple[type, ...]) -> Node:
    if issubclass(base, enum.StrEnum):
        return _build_unmarked(type="string", enum=tuple(member.value for member in base))
    if base is ObjectMeta:
        return _build_unmarked(type="object")
    if issubclass(base, msgspec.Struct):
        return build_struct_node(base, path, within=within)
    raise SchemaError(f"{path}: {base.__qualname__} has no structural schema")


def build_struct_node(
    struct: type[msgspec.Struct], path: str, *, within: tuple[type, ...] = ()
) -> Node:
    """The schema of a struct with all its members."""
    if struct in within:
        raise SchemaError(
            f"{path}: {struct.__qualname__} contains itself; "
            "recursive types have no structural schema"
        )
    texts = describe(struct)
    node = _build_unmarked(type="object", description=texts.text)
    required = []
    for field in sorted(msgspec.structs.fields(struct), key=lambda field: field.encode_name):
        place = f"{path}.{field.encode_name}"
        member = build_node(field.type, place, within=(*within, struct))
        member.description = texts.fields.get(field.name, member.description)
        _check_default(member, field, place)
        node.properties[field.encode_name] = member
        if is_required(field):
            required.append(field.encode_name)
    node.required = tuple(required)
    return node


def is_required(field: msgspec.structs.FieldInfo) -> bool:
    """Whether a member is required: if it has no default, unless a marker overrides that."""
    _, markers = unwrap(field.type)
    said = [marker.required for marker in markers if marker.required is not None]
    return said[-1] if said else field.required


def _check_default(node: Node, field: msgspec.structs.FieldInfo, path: str) -> None:
    """Check that the default in the CRD equals that of the type."""
    if not node.has_default or field.default is None:
        return
    default = field.default
    if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    if default is msgspec.NODEFAULT or _to_json(default) != node.default:
        raise SchemaError(
            f"{path}: the default of the schema, {node.default!r}, differs from the type's"
        )


def _to_json(value: object) -> object:
    """Convert a value to JSON data: tuples become lists."""
    plain: object = msgspec.json.decode(msgspec.json.encode(value))
    return plain


def _apply_marker(node: Node, marker: Schema, path: str) -> None:
    for name in _COPIED:
        value = getattr(marker, name)
        if value != getattr(_UNMARKED, name):
            setattr(node, name, value)
    if marker.default is not msgspec.UNSET:
        node.default = marker.default
    if marker.enum is not None:
        node.enum = marker.enum
    if marker.int_or_string:
        node.type, node.format = "", ""
        node.any_of = (_build_unmarked(type="integer"), _build_unmarked(type="string"))
    if marker.items is not None:
        target = node.items if node.items is not None else node.additional
        if not isinstance(target, Node):
            raise SchemaError(f"{path}: the marker describes items, but the field is not a list")
        _apply_marker(target, marker.items, f"{path}[]")


_UNMARKED = Schema()


def _build_unmarked(**members: Any) -> Node:
    return Node(properties={}, extra={}, **members)


def walk(node: Node, path: str = "") -> Iterable[tuple[str, Node]]:
    """Every node with its path, parents first."""
    yield path, node
    for name, member in node.properties.items():
        yield from walk(member, f"{path}.{name}" if path else name)
    if node.items is not None:
        yield from walk(node.items, f"{path}[]")
    if isinstance(node.additional, Node):
        yield from walk(node.additional, f"{path}[*]")
