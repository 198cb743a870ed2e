"""Sets of fields, in the form managedFields stores them.

A set is a trie of plain dictionaries, exactly the FieldsV1 JSON: keys are path elements (`f:name`,
`k:{"name":"x"}`, `v:"x"`), an empty dictionary is a member without children, and `.` marks a node
with children that is a member itself. Tries are immutable, so results share subtrees with their
arguments, and reading a stored set costs nothing.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import msgspec

from quarterdeck.wire.apply.path_element import (
    canonicalize_element,
    format_element,
    get_sort_key,
    sort_elements,
)

Trie = dict[str, Any]
SELF = "."
LEAF: Trie = {}


_SETS_CACHED = 256
_LONGEST_TEXT = 2048
"""The longest JSON of a cached set; it limits the texts in both caches to a megabyte."""


class FieldSet:
    """An immutable set of field paths."""

    __slots__ = ("trie",)

    def __init__(self, trie: Trie | None = None) -> None:
        self.trie: Trie = trie if trie is not None else {}

    @classmethod
    def from_fields_v1(cls, fields: Mapping[str, Any]) -> Self:
        """Read a FieldsV1 document; keys and values get their canonical spelling."""
        return cls(canonicalize(fields))

    @classmethod
    def of(cls, *paths: str) -> Self:
        """A set of dotted field names: `FieldSet.of("status", "metadata.labels")`."""
        trie: Trie = {}
        for path in paths:
            trie = merge_tries(trie, _build_path(path.split(".")))
        return cls(trie)

    def to_fields_v1(self) -> dict[str, Any]:
        """The FieldsV1 document, in the order Kubernetes writes it."""
        return sort_trie(self.trie)

    def union(self, other: "FieldSet") -> "FieldSet":
        """Fields of either."""
        return FieldSet(merge_tries(self.trie, other.trie))

    def intersection(self, other: "FieldSet") -> "FieldSet":
        """Fields of both."""
        return FieldSet(intersect_tries(self.trie, other.trie))

    def difference(self, other: "FieldSet") -> "FieldSet":
        """Members of this set that are not in the other; children of the other's members stay."""
        return FieldSet(subtract_tries(self.trie, other.trie))

    def recursive_difference(self, other: "FieldSet") -> "FieldSet":
        """Fields of this set that are neither in the other nor below one of its members."""
        return FieldSet(subtract_tries_recursively(self.trie, other.trie))

    def paths(self) -> Iterator[str]:
        """Yield every member as messages show it: `.spec.items[name="x"].v`."""
        return iterate_paths(self.trie)

    def __contains__(self, path: tuple[str, ...]) -> bool:
        return has_path(self.trie, path)

    def __bool__(self) -> bool:
        return bool(self.trie)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.trie == other.trie

    def __hash__(self) -> int:
        return hash(tuple(self.paths()))

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(self.paths())})"


def _build_path(names: list[str]) -> Trie:
    trie = LEAF
    for name in reversed(names):
        trie = {f"f:{name}": trie}
    return trie


def is_member(node: Trie) -> bool:
    """Whether the node itself belongs to the set."""
    return not node or SELF in node


def build_node(children: Trie, *, member: bool) -> Trie:
    """Build a node from its children; `member` says whether it belongs to the set itself."""
    if not member or not children or SELF in children:
        return children
    return {SELF: LEAF, **children}


def merge_tries(left: Trie, right: Trie) -> Trie:
    """Members of either; works on roots and, with `.`, on inner nodes."""
    if left is right or not right:
        return left
    if not left:
        return right
    result = dict(left)
    for key, node in right.items():
        other = result.get(key)
        if other is None:
            result[key] = node
        elif key != SELF and other is not node:
            result[key] = _merge_nodes(other, node)
    return result


def _merge_nodes(left: Trie, right: Trie) -> Trie:
    if not left:
        return build_node(right, member=True)
    if not right:
        return build_node(left, member=True)
    return merge_tries(left, right)


def intersect_tries(left: Trie, right: Trie) -> Trie:
    """Members of both."""
    result: Trie = {}
    for key, node in left.items():
        if key == SELF:
            continue
        other = right.get(key)
        if other is None:
            continue
        member = is_member(node) and is_member(other)
        children = intersect_tries(node, other) if node and other else LEAF
        if children or member:
            result[key] = build_node(children, member=member)
    return result


def subtract_tries(left: Trie, right: Trie) -> Trie:
    """Members of the left that are not members of the right."""
    if not right:
        return left
    result: Trie = {}
    for key, node in left.items():
        if key == SELF:
            continue
        other = right.get(key)
        if other is None:
            result[key] = node
            continue
        member = is_member(node) and not is_member(other)
        children = _subtract_children(node, other)
        if children or member:
            result[key] = build_node(children, member=member)
    return result


def _subtract_children(node: Trie, other: Trie) -> Trie:
    if not node:
        return LEAF
    if not other:
        return {key: child for key, child in node.items() if key != SELF}
    return subtract_tries(node, other)


def subtract_tries_recursively(left: Trie, right: Trie) -> Trie:
    """Members of the left, without the right's members and everything below them."""
    if not right:
        return left
    result: Trie = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None or key == SELF:
            result[key] = node
            continue
        if is_member(other):
            continue
        children = subtract_tries_recursively(node, other) if node else LEAF
        if not node or any(child != SELF for child in children):
            result[key] = children
        elif SELF in children:
            result[key] = LEAF
    return result


def has_path(trie: Trie, path: Iterable[str]) -> bool:
    """Whether the path of elements is a member."""
    node: Trie | None = trie
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
    return node is not None and node is not trie and is_member(node)


def canonicalize(fields: Mapping[str, Any]) -> Trie:
    """Return a trie with canonical path elements; unknown kinds of elements are dropped."""
    return _canonicalize_with(canonicalize, fields)


def _canonicalize_with(read: Callable[[Trie], Trie], fields: Mapping[str, Any]) -> Trie:
    """Make the path elements of one node canonical, and read its children with `read`."""
    result: Trie = {}
    for key, node in fields.items():
        if key[:2] == "f:":
            result[key] = read(node) if node else LEAF
        elif (element := canonicalize_element(key)) is not None:
            result[element] = read(node) if node else LEAF
    return result


def read_fields(fields: Mapping[str, Any]) -> Trie:
    """As `canonicalize`, but cached: objects of one kind often have equal sets."""
    text = msgspec.json.encode(fields)
    if len(text) > _LONGEST_TEXT:
        return canonicalize(fields)
    if not _is_of_one_object(text):
        return _canonicalize_text(text)
    return _canonicalize_with(read_fields, fields)


def sort_fields(trie: Trie) -> Trie:
    """As `sort_trie`, but cached."""
    text = msgspec.json.encode(trie)
    if len(text) > _LONGEST_TEXT:
        return sort_trie(trie)
    if not _is_of_one_object(text):
        return _sort_text(text)
    return {key: sort_fields(node) if (node := trie[key]) else LEAF for key in sort_elements(trie)}


def _is_of_one_object(text: bytes) -> bool:
    """Whether a set contains the uid of an owner or an address, which few other objects share.

    Such sets are not cached as a whole, because they would replace useful ones; their parts are.
    """
    return b'k:{\\"uid' in text or b'k:{\\"ip' in text


@functools.lru_cache(_SETS_CACHED)
def _canonicalize_text(text: bytes) -> Trie:
    return canonicalize(msgspec.json.decode(text))


@functools.lru_cache(_SETS_CACHED)
def _sort_text(text: bytes) -> Trie:
    return sort_trie(msgspec.json.decode(text))


def sort_trie(trie: Trie) -> Trie:
    """Return a trie with its keys in the order in which Kubernetes writes them."""
    return {key: sort_trie(node) if (node := trie[key]) else LEAF for key in sort_elements(trie)}


def iterate_paths(trie: Trie, prefix: str = "") -> Iterator[str]:
    """Members as text: those of a node first, then those below, each in order."""
    keys = sorted((key for key in trie if key != SELF), key=get_sort_key)
    for key in keys:
        if is_member(trie[key]):
            yield prefix + format_element(key)
    for key in keys:
        if trie[key]:
            yield from iterate_paths(trie[key], prefix + format_element(key))
