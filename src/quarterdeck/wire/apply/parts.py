"""Lists every part of an added or removed value, in the order in which Kubernetes writes them.

Objects of one kind mostly have the same members. The field set of each list of members is computed
once and cached with the type (`Shape`), so a further such object costs one look-up for each map.
"""

from typing import Any

from quarterdeck.wire.apply.fieldset import LEAF, Trie, build_node
from quarterdeck.wire.apply.path_element import build_name_element, sort_elements
from quarterdeck.wire.apply.schema_type import Shape, Type

_MOST_SHAPES = 64
_LONGEST_NAMES = 1024
"""Bounds of the cache of a type, because maps can have members of any name."""


def list_all_parts(value: Any, kind: Type) -> Trie:
    """Build the node of an added or removed value: every part of it is a member.

    Raises:
        ItemError: if a list item has no identity.
    """
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
            fields[element] = list_all_parts(part, child)
    return fields


def _build_shape(names: tuple[str, ...], kind: Type) -> Shape:
    children = {
        name: child for name in sorted(names) if (child := kind.find_member_type(name)) is not None
    }
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
    inner, build_element = kind.item, kind.build_path_element
    name = kind.keys[0] if len(kind.keys) == 1 else ""
    for item in value:
        text = item.get(name) if name and type(item) is dict else None
        element = build_name_element(name, text) if type(text) is str else build_element(item)
        items[element] = LEAF if element in items else list_all_parts(item, inner)
    if len(items) > 1:
        items = {element: items[element] for element in sort_elements(items)}
    return build_node(items, member=True)
