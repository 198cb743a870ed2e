"""Field sets of new objects by their shape: most objects of a kind own the same fields.

The field set of a new object depends on the names of its members and the identities of its list
items, not on its values. A function that is generated from the type computes a key from these;
objects with the same key share one field set, which is never changed. If no key can be computed
cheaply, or most keys are new, the fields are listed without the cache.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from quarterdeck.meta.structural.inlined.source import Source
from quarterdeck.meta.structural.inlined.warming import CALLS_BEFORE_BUILD
from quarterdeck.wire.apply.fieldset import Trie
from quarterdeck.wire.apply.schema_type import Type

ListFields = Callable[[Mapping[str, Any]], Trie]
GetKey = Callable[[Mapping[str, Any]], Hashable | None]
"""Computes the key of an object's shape; None if that is not possible."""

MOST_SHAPES = 256
_LONGEST_KEY = 4096
"""Objects with a longer key are not cached."""


class KnownShapes:
    """The field sets of new objects of one type."""

    def __init__(self, kind: Type, list_fields: ListFields) -> None:
        self._kind = kind
        self._list_fields = list_fields
        self._calls = 0
        self._hits = 0
        self._is_useless = False
        self._get_key: GetKey | None = None
        self._known: dict[Hashable, Trie] = {}

    def __len__(self) -> int:
        return len(self._known)

    def list_fields(self, value: Mapping[str, Any]) -> Trie:
        """Return the fields of a new object.

        Raises:
            ItemError: if a list item has no identity.
        """
        get_key = self._get_key
        if get_key is None:
            return self._list_before_use(value)
        key = get_key(value)
        if key is None:
            return self._list_fields(value)
        fields = self._known.get(key)
        if fields is not None:
            self._hits += 1
            return fields
        return self._add(key, value)

    def _list_before_use(self, value: Mapping[str, Any]) -> Trie:
        self._calls += 1
        if self._calls >= CALLS_BEFORE_BUILD and not self._is_useless:
            self._get_key = build_key_function(self._kind)
        return self._list_fields(value)

    def _add(self, key: Hashable, value: Mapping[str, Any]) -> Trie:
        fields = self._list_fields(value)
        if len(repr(key)) > _LONGEST_KEY:
            return fields
        if len(self._known) >= MOST_SHAPES:
            if self._hits < MOST_SHAPES:
                self._is_useless, self._get_key = True, None  # these objects are all different
            self._known.clear()
            self._hits = 0
        self._known[key] = fields
        return fields


def build_key_function(kind: Type) -> GetKey:
    """Build a function that returns equal keys only for objects with equal field sets."""
    source = Source(refusal="return None", result="return tuple(k)")
    source.add("k = []")
    source.add("add = k.append")
    _write_map(source, kind, "v")
    get_key: GetKey = source.compile()
    return get_key


def _has_parts(kind: Type) -> bool:
    """Whether values of a type may have fields or items of their own."""
    return (kind.has_map and not kind.map_atomic) or (kind.has_list and not kind.list_atomic)


def _write_value(source: Source, kind: Type, name: str) -> None:
    may_be_map = kind.has_map and not kind.map_atomic
    may_be_list = kind.has_list and not kind.list_atomic
    if may_be_map and may_be_list:  # anything: no type is declared
        source.refuse_if(f"type({name}) is dict or type({name}) is list")
    elif may_be_map:
        with source.block(f"if type({name}) is dict:"):
            _write_map(source, kind, name)
        with source.block("else:"):
            source.add("add(None)")
    elif may_be_list:
        _write_list(source, kind, name)


def _write_map(source: Source, kind: Type, name: str) -> None:
    members = kind.members
    if not source.reserve_node(len(members)):
        source.refuse()
        return
    source.add(f"add(tuple({name}))")
    parts = [(key, child) for key in members if (child := kind.find_declared_type(key)) is not None]
    for key, child in parts:
        if _has_parts(child):
            with source.member(name, key) as member:
                _write_value(source, child, member)
    if kind.element is not None and _has_parts(kind.element):
        declared, key, member = source.bind(frozenset(members)), *_name_two(source)
        with source.block(f"for {key}, {member} in {name}.items():"):
            source.refuse_if(
                f"(type({member}) is dict or type({member}) is list) and {key} not in {declared}"
            )


def _name_two(source: Source) -> tuple[str, str]:
    return source.name_variable(), source.name_variable()


def _write_list(source: Source, kind: Type, name: str) -> None:
    source.refuse_if(f"type({name}) is not list")
    if not kind.keys:
        with source.each(name) as member:
            source.refuse_if(f"type({member}) is not str and type({member}) is not int")
        source.add(f"add(tuple({name}))")
        return
    source.add(f"add(len({name}))")
    with source.each(name) as member:
        source.refuse_if(f"type({member}) is not dict")
        for key in kind.keys:
            text = source.name_variable()
            source.add(f"{text} = {member}.get({key!r})")
            source.refuse_if(f"type({text}) is not str and type({text}) is not int")
            source.add(f"add({text})")
        _write_value(source, kind.item, member)
