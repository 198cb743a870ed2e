"""Types of values, which decide how they merge: as a whole, by field, by key, or as deduced.

A `Type` is compiled from a schema node on first use, so that schemas may be cyclic and a kind costs
only the fields that objects really have. Without a schema, types are deduced from the value:
objects merge by field, lists are replaced as a whole.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from quarterdeck.meta.field import quote
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.schema import Node
from quarterdeck.wire.apply.fieldset import Trie
from quarterdeck.wire.apply.path_element import build_key_element, build_value_element

_SCALARS = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}
_UNTYPED_NAMES = frozenset({"io.k8s.apimachinery.pkg.runtime.RawExtension"})


class ItemError(ValueError):
    """Raised when a list item cannot be identified, such as one without its keys."""


class Shape(NamedTuple):
    """The cached field set of maps of one type with the same members."""

    fields: Trie
    """The node of the map, in the order Kubernetes writes it; never changed."""
    branches: tuple[tuple[str, str, "Type"], ...]
    """Members that may have fields or items of their own: name, path element, type."""


class Type:
    """The type of one value; `scalar`, `has_list` and `has_map` say which values it allows."""

    __slots__ = (
        "_defaults",
        "_element",
        "_fields",
        "_is_deduced",
        "_is_element_known",
        "_item",
        "_node",
        "_preserve",
        "has_list",
        "has_map",
        "keys",
        "list_atomic",
        "map_atomic",
        "scalar",
        "shapes",
    )

    def __init__(self, node: Node | None, *, preserve: bool = False) -> None:
        self._node = node
        self._fields: dict[str, Type] = {}
        self._element: Type | None = None
        self._is_deduced: bool | None = None
        self._is_element_known = node is None
        self._item: Type | None = None
        self._defaults: dict[str, Any] = {}
        self.shapes: dict[tuple[str, ...], Shape] = {}
        """Filled and read by `new_fields`."""
        self.keys: tuple[str, ...] = ()
        self.scalar = ""
        self.has_list = self.has_map = False
        self.list_atomic = True
        self.map_atomic = False
        self._preserve = preserve
        if node is not None:
            self._read(node)

    def _read(self, node: Node) -> None:
        self._preserve = self._preserve or node.preserve_unknown
        match node.type:
            case "object":
                self.has_map = True
            case "array":
                self.has_list = True
            case "string":
                self.scalar = "string" if node.format in ("", "byte") else "untyped"
            case "":
                self.scalar = "untyped"
                self.has_list = self.has_map = not (node.int_or_string and node.type_name)
            case _:
                self.scalar = _SCALARS[node.type]
        self.map_atomic = node.map_type == "atomic"
        if self.has_list:
            self._read_list(node)

    def _read_list(self, node: Node) -> None:
        match node.list_type:
            case "map":
                self.keys, self.list_atomic = node.list_map_keys, False
            case "set":
                self.list_atomic = False
            case "" if "merge" in node.patch_strategy:
                self.keys = (node.patch_merge_key,) if node.patch_merge_key else ()
                self.list_atomic = False

    @property
    def is_deduced_map(self) -> bool:
        """Whether it is an object without declared members."""
        if self._is_deduced is None:
            is_declared = self._node is not None and bool(self._get_declared())
            self._is_deduced = self.has_map and self.element is DEDUCED and not is_declared
        return self._is_deduced

    @property
    def element(self) -> "Type | None":
        """The type of members that are not declared by name; None if they are not allowed."""
        if not self._is_element_known and self._node is not None:
            self._element = self._find_element(self._node)
            self._is_element_known = True
        return self._element

    def _find_element(self, node: Node) -> "Type | None":
        if isinstance(node.additional, Node):
            return build_type(node.additional, preserve=self._preserve)
        if node.additional is True or (
            node.additional is None and (self._preserve or not node.properties)
        ):
            return DEDUCED
        return None

    @property
    def item(self) -> "Type":
        """The type of a list's items."""
        if self._item is None:
            items = self._node.items if self._node is not None else None
            self._item = UNTYPED if items is None else build_type(items, preserve=self._preserve)
        return self._item

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the declared members."""
        return tuple(self._get_declared())

    def find_declared_type(self, name: str) -> "Type | None":
        """Return the type of a declared member; None if there is no such member."""
        if (found := self._fields.get(name)) is not None:
            return found
        node = self._get_declared().get(name)
        if node is None:
            return None
        # unknown fields are kept in what a definition declares, not in Kubernetes' own types
        preserve = self._preserve and not node.type_name
        self._fields[name] = found = build_type(node, preserve=preserve)
        return found

    def _get_declared(self) -> Mapping[str, Node]:
        return self._node.properties if self._node is not None else {}

    def find_member_type(self, name: str) -> "Type | None":
        """Return the type of a member, declared or not; None if it is not allowed."""
        return self._fields.get(name) or self.find_declared_type(name) or self.element

    def get_key_default(self, key: str) -> Any:
        """Return the default of a key of list items, or `UNSET`; Go's zero value is a default."""
        if key not in self._defaults:
            self._defaults[key] = self._find_default(key)
        return self._defaults[key]

    def _find_default(self, key: str) -> Any:
        items = self._node.items if self._node is not None else None
        node = items.properties.get(key) if items is not None else None
        if items is None or node is None:
            return msgspec.UNSET
        if node.has_default:
            return msgspec.UNSET if node.default is None else node.default
        if items.type_name and key in items.required:
            return {"string": "", "integer": 0, "boolean": False}.get(node.type, msgspec.UNSET)
        return msgspec.UNSET

    def build_path_element(self, item: Any) -> str:
        """Build the path element of an item of this list.

        Raises:
            ItemError: if the item has no identity.
        """
        if self.keys:
            return self._build_key(item)
        match item:
            case dict():
                raise ItemError("associative list without keys has an element that's a map type")
            case list():
                raise ItemError("not supported: associative list with lists as elements")
            case None:
                raise ItemError(
                    "associative list without keys has an element that's an explicit null"
                )
            case _:
                return build_value_element(item)

    def _build_key(self, item: Any) -> str:
        if item is None:
            raise ItemError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise ItemError("associative list with keys may not have non-map elements")
        key: dict[str, Any] = {}
        for name in self.keys:
            value = item.get(name, msgspec.UNSET)
            if value is msgspec.UNSET:
                value = self.get_key_default(name)
            if value is msgspec.UNSET and has_feature("ListKeysMayBeAbsent"):
                continue  # an item that has the key is another one
            if value is msgspec.UNSET:
                raise ItemError(
                    f'associative list with keys has an element that omits key field "{name}" '
                    "(and doesn't have default value)"
                )
            key[name] = value
        if not key:
            shown = " ".join(map(quote, self.keys))
            raise ItemError(
                f"associative list with keys has an element that omits all key fields [{shown}]"
                " (and doesn't have default values for any key fields)"
            )
        return build_key_element(key)


def build_type(node: Node, *, preserve: bool = False) -> Type:
    """Build the type of a schema node."""
    if node.type_name in _UNTYPED_NAMES:
        return UNTYPED
    if node.embedded_resource:
        node = with_object_meta(node)
    return Type(node, preserve=preserve)


def build_root_type(node: Node) -> Type:
    """Build the type of a whole object; custom resources get the type of ObjectMeta."""
    return Type(node if node.type_name else with_object_meta(node))


def with_object_meta(node: Node) -> Node:
    """Return a schema with apiVersion, kind and metadata declared."""
    from quarterdeck.meta.builtins import nodes

    text = Node(type="string")
    metadata = nodes.build_node("meta/v1.ObjectMeta")
    return Node(
        type="object",
        properties=node.properties | {"apiVersion": text, "kind": text, "metadata": metadata},
        additional=node.additional,
        preserve_unknown=node.preserve_unknown,
        map_type=node.map_type,
    )


def _build_any(*, atomic: bool) -> Type:
    found = Type(None)
    found.scalar = "untyped"
    found.has_list = found.has_map = True
    found.map_atomic = atomic
    return found


UNTYPED: Final = _build_any(atomic=True)
"""Any value; it is replaced as a whole."""
UNTYPED._element = UNTYPED
UNTYPED._item = UNTYPED

DEDUCED: Final = _build_any(atomic=False)
"""Any value: objects merge by field, lists are replaced as a whole."""
DEDUCED._element = DEDUCED
DEDUCED._item = UNTYPED
