"""The fields of an object that is all new, which its creator owns.

Objects of one kind mostly have the same members: what that means for their field set is worked out
once for each list of members and kept with the type (`Shape`). The next such object costs a look-up
for each map in it, where comparing it with nothing, subtracting and sorting cost ten times as much.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.wire.apply.fieldset import LEAF, SELF, Trie, build_node, sort_elements
from quarterdeck.wire.apply.schema_type import Shape, Type

_IDENTITY = ("apiVersion", "kind")
_SYSTEM_METADATA = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
UNOWNED: Trie = {
    **{f"f:{name}": LEAF for name in _IDENTITY},
    "f:metadata": {SELF: LEAF, **{f"f:{name}": LEAF for name in sorted(_SYSTEM_METADATA)}},
}
"""Fields nobody owns: the server's, or the object's identity."""

_MOST_SHAPES = 64
_LONGEST_NAMES = 1024
"""Bounds of what a type keeps: maps with members of any name would fill it otherwise."""


def list_new_fields(value: Mapping[str, Any], kind: Type) -> Trie:
    """Every field of a new object that somebody can own, in the order Kubernetes writes them.

    Raises:
        ItemError: if a list item has no identity.
    """
    fields: Trie = {}
    for name in sorted(value):
        if name in _IDENTITY or (child := kind.field(name)) is None:
            continue
        if name != "metadata":
            fields[f"f:{name}"] = _list_parts(value[name], child)
        elif owned := _list_metadata(value[name], child):
            fields["f:metadata"] = owned
    return fields


def _list_metadata(metadata: Mapping[str, Any], kind: Type) -> Trie:
    owned = {name: part for name, part in metadata.items() if name not in _SYSTEM_METADATA}
    node = _list_parts(owned, kind)
    return {key: each for key, each in node.items() if key != SELF}


def _list_parts(value: Any, kind: Type) -> Trie:
    """The node of a value, with everything in it."""
    if not value:
        return LEAF
    if isinstance(value, dict):
        return _list_members(value, kind) if kind.has_map and not kind.map_atomic else LEAF
    if isinstance(value, list) and kind.has_list and not kind.list_atomic:
        return _list_items(value, kind)
    return LEAF


def _list_members(value: dict[str, Any], kind: Type) -> Trie:
    names = tuple(value)
    shape = kind.shapes.get(names)
    if shape is None:
        shape = _build_shape(names, kind)
    if not shape.branches:
        return shape.fields
    fields = shape.fields.copy()
    for name, element, child in shape.branches:
        if part := value[name]:
            fields[element] = _list_parts(part, child)
    return fields


def _build_shape(names: tuple[str, ...], kind: Type) -> Shape:
    children = {name: child for name in sorted(names) if (child := kind.field(name)) is not None}
    shape = Shape(
        build_node({f"f:{name}": LEAF for name in children}, member=True),
        tuple(
            (name, f"f:{name}", child)
            for name, child in children.items()
            if child.has_map or child.has_list
        ),
    )
    if len(kind.shapes) < _MOST_SHAPES and sum(map(len, names)) <= _LONGEST_NAMES:
        kind.shapes[names] = shape
    return shape


def _list_items(value: list[Any], kind: Type) -> Trie:
    items: Trie = {}
    for item in value:
        element = kind.path_element(item)
        items[element] = LEAF if element in items else _list_parts(item, kind.item)
    return build_node({element: items[element] for element in sort_elements(items)}, member=True)
