"""Schema nodes of the built-in kinds, made from the table.

Each struct has one node, so graphs share nodes and may be cyclic (JSONSchemaProps contains itself).
What a field adds to its type (list keys, patch strategies) is set on a copy that shares the members
of the original.
"""

import copy
import functools

import msgspec

from quarterdeck.meta.builtins import table
from quarterdeck.meta.schema import MapType, Node, Type

_SCALARS: dict[str, tuple[Type, str]] = {
    "string": ("string", ""),
    "bool": ("boolean", ""),
    "int": ("integer", "int64"),
    "int16": ("integer", "int32"),
    "int32": ("integer", "int32"),
    "int64": ("integer", "int64"),
    "uint16": ("integer", "int32"),
    "uint32": ("integer", "int64"),
    "uint64": ("integer", "int64"),
    "float64": ("number", "double"),
    "bytes": ("string", "byte"),
}


@functools.cache
def build_node(name: str) -> Node:
    """The node of a named type."""
    if name in table.SPECIAL:
        return _build_special(name)
    found = table.get_type(name)
    builder = _Builder()
    return builder.build_expression(found.alias) if found.alias else builder.build_struct(name)


class _Builder:
    """Builds one graph; keeps the structs in progress, so that recursive types refer to them."""

    def __init__(self) -> None:
        self._structs: dict[str, Node] = {}

    def build_struct(self, name: str) -> Node:
        if (known := _get_finished().get(name) or self._structs.get(name)) is not None:
            return known
        found = table.get_type(name)
        node = Node(
            type="object",
            properties={},
            map_type=_to_map_type(found.map_type),
            type_name=table.to_openapi_name(name),
            required=_list_required(name),
        )
        self._structs[name] = node
        self._fill(node, name)
        _get_finished()[name] = node
        return node

    def _fill(self, node: Node, name: str) -> None:
        for field in table.get_type(name).fields:
            if field.name:
                node.properties[field.name] = self._build_field(field)
            else:
                self._fill(node, field.type.lstrip("*#"))

    def _build_field(self, field: table.Field) -> Node:
        node = self.build_expression(field.type)
        changes: dict[str, object] = {}
        if field.strategy:
            changes["patch_strategy"] = tuple(field.strategy.split(","))
        if field.merge_key:
            changes["patch_merge_key"] = field.merge_key
        if field.list_type:
            changes["list_type"] = field.list_type
        if field.list_map_keys:
            changes["list_map_keys"] = field.list_map_keys
        if field.map_type:
            changes["map_type"] = field.map_type
        if field.default is not msgspec.UNSET:
            changes["default"] = field.default
        if not changes:
            return node
        changed = copy.copy(node)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed

    def build_expression(self, expression: str) -> Node:
        if expression.startswith("*"):
            return self.build_expression(expression[1:])
        if expression.startswith("[]"):
            return Node(type="array", items=self.build_expression(expression[2:]))
        if expression.startswith("{}"):
            return Node(type="object", additional=self.build_expression(expression[2:]))
        if expression.startswith("#"):
            return self._build_named(expression[1:])
        return _build_scalar(expression)

    def _build_named(self, name: str) -> Node:
        if name in table.SPECIAL:
            return _build_special(name)
        found = table.get_type(name)
        return self.build_expression(found.alias) if found.alias else self.build_struct(name)


@functools.cache
def _get_finished() -> dict[str, Node]:
    return {}


def _list_required(name: str) -> tuple[str, ...]:
    names: list[str] = []
    for field in table.get_type(name).fields:
        if not field.name:
            names += _list_required(field.type.lstrip("*#"))
        elif field.required:
            names.append(field.name)
    return tuple(names)


def _to_map_type(value: str) -> MapType:
    return "atomic" if value == "atomic" else ""


@functools.cache
def _build_scalar(name: str) -> Node:
    if name not in _SCALARS:
        return Node(preserve_unknown=True)
    kind, form = _SCALARS[name]
    return Node(type=kind, format=form)


@functools.cache
def _build_special(name: str) -> Node:
    full = table.to_openapi_name(name)
    match name.rpartition(".")[2]:
        case "Time" | "MicroTime":
            return Node(type="string", format="date-time", type_name=full)
        case "Duration":
            return Node(type="string", type_name=full)
        case "Quantity":
            return Node(int_or_string=True, type_name=full)
        case "IntOrString":
            return Node(int_or_string=True, format="int-or-string", type_name=full)
        case "RawExtension" | "FieldsV1" | "Object":
            return Node(type="object", preserve_unknown=True, type_name=full)
        case _:
            return Node(preserve_unknown=True, type_name=full)
