"""Schema nodes as types.

Sizes follow Kubernetes: what a schema does not bound is bounded by the largest request, so that
the cost of every rule can be estimated.
"""

from collections.abc import Mapping

from quarterdeck.cel import types
from quarterdeck.cel.schema.identifier import escape, is_word
from quarterdeck.cel.types import Kind, StructField, Type
from quarterdeck.meta.schema import Node

MAX_REQUEST_BYTES = 3 * 1024 * 1024

_STRING = Node(type="string")
_NOTHING = Node()
_KEY = Type(Kind.STRING, "string", min_size=2)
_FORMATS = {
    "byte": ("bytes", types.BYTES, 2, MAX_REQUEST_BYTES - 2),
    "duration": ("duration", types.DURATION, 3, 32),
    "date": ("date", types.TIMESTAMP, 12, 12),
    "date-time": ("date-time", types.TIMESTAMP, 21, 32),
}


def declare_type(node: Node, *, root: bool = False, name: str = "selfType") -> Type | None:
    """The CEL type of a schema node; None if rules cannot access it.

    `root` marks a whole resource: its apiVersion, kind and metadata are visible even when the
    schema does not mention them.
    """
    if node.int_or_string:
        return Type(
            Kind.DYN, "dyn", min_size=1, max_elements=_limit_string(node), nullable=node.nullable
        )
    match node.type:
        case "array":
            return _declare_list(node, name)
        case "object":
            return _declare_object(node, root=root, name=name)
        case "string":
            return _declare_string(node)
        case "boolean":
            return Type(Kind.BOOL, "bool", min_size=4, nullable=node.nullable)
        case "number":
            return Type(Kind.DOUBLE, "double", min_size=1, nullable=node.nullable, convert="double")
        case "integer":
            return Type(Kind.INT, "int", min_size=1, nullable=node.nullable)
        case _:
            return None


def with_resource_members(properties: Mapping[str, Node]) -> dict[str, Node]:
    """The properties of a resource; apiVersion, kind and metadata are set unless declared."""
    metadata = properties.get("metadata", _NOTHING)
    if (
        properties.get("kind", _NOTHING).type == "string"
        and properties.get("apiVersion", _NOTHING).type == "string"
        and metadata.properties.get("name", _NOTHING).type == "string"
        and metadata.properties.get("generateName", _NOTHING).type == "string"
    ):
        return dict(properties)
    visible = Node(type="object", properties={"name": _STRING, "generateName": _STRING})
    return {**properties, "kind": _STRING, "apiVersion": _STRING, "metadata": visible}


def _limit_string(node: Node) -> int:
    return node.max_length * 4 if node.max_length is not None else MAX_REQUEST_BYTES - 2


def _declare_list(node: Node, name: str) -> Type | None:
    if node.items is None:
        return None
    element = declare_type(node.items, root=node.items.embedded_resource, name=f"{name}.@idx")
    if element is None:
        return None
    limit = node.max_items
    if limit is None:
        limit = (MAX_REQUEST_BYTES - 2) // (element.min_size + 1)
    kind = node.list_type if node.list_type in ("set", "map") else ""
    return Type(
        Kind.LIST,
        "list",
        (element,),
        max_elements=max(limit, 0),
        min_size=2,
        nullable=node.nullable,
        list_kind="set" if kind == "set" else "map" if kind == "map" else "",
        list_keys=node.list_map_keys,
        special=bool(kind),
    )


def _declare_object(node: Node, *, root: bool, name: str) -> Type | None:
    if isinstance(node.additional, Node) and not root:
        return _declare_map(node, node.additional, name)
    properties = with_resource_members(node.properties) if root else node.properties
    fields: dict[str, StructField] = {}
    size = 2
    for key, child in properties.items():
        escaped = escape(key)
        member = declare_type(child, root=child.embedded_resource, name=f"{name}.{escaped or key}")
        if member is None:
            continue
        if escaped is not None:
            fields[escaped] = StructField(key, member)
            if is_word(key):
                fields[key] = fields[escaped]
        if key in node.required and not child.has_default:
            size += len(key) + member.min_size + 4
    return Type(
        Kind.STRUCT,
        name,
        fields=fields,
        min_size=size,
        nullable=node.nullable,
        convert="deep" if any(field.type.convert for field in fields.values()) else "",
        special=any(field.type.special for field in fields.values()),
    )


def _declare_map(node: Node, values: Node, name: str) -> Type | None:
    value = declare_type(values, root=values.embedded_resource, name=f"{name}.@elem")
    if value is None:
        return None
    limit = node.max_properties
    if limit is None:
        limit = (MAX_REQUEST_BYTES - 2) // (value.min_size + 6)
    return Type(
        Kind.MAP,
        "map",
        (_KEY, value),
        max_elements=max(limit, 0),
        min_size=2,
        nullable=node.nullable,
    )


def _declare_string(node: Node) -> Type:
    if (known := _FORMATS.get(node.format)) is not None:
        convert, base, size, limit = known
        if node.format == "byte" and node.max_length is not None:
            limit = max(node.max_length, 0)
        return Type(
            base.kind,
            base.name,
            min_size=size,
            max_elements=limit,
            nullable=node.nullable,
            convert=convert,
        )
    limit = _limit_string(node)
    if node.max_length is None and node.enum:
        limit = max((len(text.encode()) for text in node.enum if isinstance(text, str)), default=0)
    return Type(Kind.STRING, "string", min_size=2, max_elements=limit, nullable=node.nullable)
