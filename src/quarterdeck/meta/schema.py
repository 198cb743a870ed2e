"""The schema node, for custom and built-in kinds alike.

CRD schemas (structural OpenAPI) and the table of built-in kinds both become a graph of `Node`;
validation, defaulting, pruning, patches, server-side apply, CEL and OpenAPI all read it. A graph
may be cyclic (built-ins such as JSONSchemaProps are), so a node is never printed or compared whole.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Type = Literal["object", "array", "string", "integer", "number", "boolean", ""]
ListType = Literal["atomic", "set", "map", ""]
MapType = Literal["granular", "atomic", ""]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `x-kubernetes-validations`."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


class Node(msgspec.Struct, kw_only=True, eq=False):
    """The schema of one value in an object.

    It is built once and then only read; it is not frozen, because cyclic graphs are built in two
    steps. An empty `type` allows any type (int-or-string and preserve-unknown nodes have none).
    """

    type: Type = ""
    format: str = ""
    title: str = ""
    description: str = ""
    nullable: bool = False
    default: Any = msgspec.UNSET
    enum: tuple[Any, ...] | None = None

    # objects and maps
    properties: dict[str, "Node"] = {}
    additional: "Node | bool | None" = None
    required: tuple[str, ...] = ()
    min_properties: int | None = None
    max_properties: int | None = None

    # arrays
    items: "Node | None" = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False

    # strings and numbers
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: int | float | None = None

    # value validations combined
    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    not_: "Node | None" = None

    # Kubernetes' extensions
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    list_type: ListType = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType = ""
    rules: tuple[Rule, ...] = ()

    # built-in kinds only: strategic merge, and the name of the Go type
    patch_strategy: tuple[str, ...] = ()
    patch_merge_key: str = ""
    type_name: str = ""

    # the document it was read from, for what has no member above
    extra: dict[str, Any] = {}

    @property
    def has_default(self) -> bool:
        """Whether a default is declared; `null` is one."""
        return self.default is not msgspec.UNSET


_SIMPLE = {
    "type": "type",
    "format": "format",
    "title": "title",
    "description": "description",
    "nullable": "nullable",
    "default": "default",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-merge-key": "patch_merge_key",
}
_COMBINATORS = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of"}
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Node)}


def from_openapi(document: Mapping[str, Any]) -> Node:
    """Convert a structural OpenAPI v3 schema of a CRD to a node.

    The schema is not checked; `meta.structural` checks whether it is structural. Keywords without
    an attribute in `Node` are kept in `extra`.
    """
    node = Node(properties={}, extra={})
    for name, value in document.items():
        if (attribute := _SIMPLE.get(name)) is not None:
            setattr(node, attribute, value)
        elif (attribute := _COMBINATORS.get(name)) is not None:
            setattr(node, attribute, tuple(from_openapi(part) for part in value))
        else:
            _read_member(node, name, value)
    return node


def _read_member(node: Node, name: str, value: Any) -> None:
    match name:
        case "properties":
            node.properties = {key: from_openapi(part) for key, part in value.items()}
        case "additionalProperties":
            node.additional = value if isinstance(value, bool) else from_openapi(value)
        case "items":
            node.items = from_openapi(value) if isinstance(value, Mapping) else None
        case "required":
            node.required = tuple(value)
        case "enum":
            node.enum = tuple(value)
        case "not":
            node.not_ = from_openapi(value)
        case "x-kubernetes-list-map-keys":
            node.list_map_keys = tuple(value)
        case "x-kubernetes-patch-strategy":
            node.patch_strategy = tuple(value.split(","))
        case "x-kubernetes-validations":
            node.rules = tuple(_read_rule(rule) for rule in value)
        case _:
            node.extra[name] = value


def _read_rule(document: Mapping[str, Any]) -> Rule:
    return Rule(
        rule=document.get("rule", ""),
        message=document.get("message", ""),
        message_expression=document.get("messageExpression", ""),
        reason=document.get("reason", ""),
        field_path=document.get("fieldPath", ""),
        optional_old_self=document.get("optionalOldSelf"),
    )


def to_openapi(node: Node) -> dict[str, Any]:
    """The document `from_openapi` would read back; the node must not be cyclic."""
    document: dict[str, Any] = {}
    for name, attribute in _SIMPLE.items():
        value = getattr(node, attribute)
        if value is not msgspec.UNSET and (attribute == "default" or value != _DEFAULTS[attribute]):
            document[name] = value
    for name, attribute in _COMBINATORS.items():
        if parts := getattr(node, attribute):
            document[name] = [to_openapi(part) for part in parts]
    _write_members(node, document)
    document.update(node.extra)
    return document


def _write_members(node: Node, document: dict[str, Any]) -> None:
    if node.properties:
        document["properties"] = {key: to_openapi(part) for key, part in node.properties.items()}
    if isinstance(node.additional, Node):
        document["additionalProperties"] = to_openapi(node.additional)
    elif node.additional is not None:
        document["additionalProperties"] = node.additional
    if node.items is not None:
        document["items"] = to_openapi(node.items)
    if node.required:
        document["required"] = list(node.required)
    if node.enum is not None:
        document["enum"] = list(node.enum)
    if node.not_ is not None:
        document["not"] = to_openapi(node.not_)
    if node.list_map_keys:
        document["x-kubernetes-list-map-keys"] = list(node.list_map_keys)
    if node.patch_strategy:
        document["x-kubernetes-patch-strategy"] = ",".join(node.patch_strategy)
    if node.rules:
        document["x-kubernetes-validations"] = [_write_rule(rule) for rule in node.rules]


def _write_rule(rule: Rule) -> dict[str, Any]:
    members = {
        "rule": rule.rule,
        "message": rule.message,
        "messageExpression": rule.message_expression,
        "reason": rule.reason,
        "fieldPath": rule.field_path,
    }
    document: dict[str, Any] = {key: value for key, value in members.items() if value}
    if rule.optional_old_self is not None:
        document["optionalOldSelf"] = rule.optional_old_self
    return document
