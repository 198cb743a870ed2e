"""Schema markers for fields: limits, list types, defaults and rules that a type cannot express.

Markers describe the schema that the CRD carries and the server enforces. Decoding ignores them on
purpose: an object that was stored under an older schema must stay readable, and one bad object must
not stop a watch.
"""

from typing import Annotated, Any

import msgspec

from quarterdeck.meta.schema import ListType, MapType, Rule


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """Schema facts of one field, given as `Annotated[int, Schema(minimum=0)]`.

    The members are those of `meta.schema.Node`. `required` overrides what the Python default says;
    `items` speaks of the entries of a list or the values of a map. `described_by` names the struct
    whose members the schema shows for a map; with `preserve_unknown` the map may have others.
    """

    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str = ""
    enum: tuple[str, ...] | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    list_type: ListType = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType = ""
    default: Any = msgspec.UNSET
    nullable: bool = False
    required: bool | None = None
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    rules: tuple[Rule, ...] = ()
    items: "Schema | None" = None
    described_by: type[msgspec.Struct] | None = None


QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?"
    r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The quantity grammar, as CRD schemas have to spell it."""

Time = Annotated[str, Schema(format="date-time")]
"""RFC 3339 with seconds. It is a string because most times are never read; `kit.rfc3339` parses
those that are."""

MicroTime = Annotated[str, Schema(format="date-time")]
"""RFC 3339 with exactly six fractional digits, which Go's clients require."""

Quantity = Annotated[str | int | float, Schema(int_or_string=True, pattern=QUANTITY_PATTERN)]
"""An amount such as `500m` or `1Gi`; `kit.quantity` does the arithmetic."""

IntOrString = Annotated[int | str, Schema(int_or_string=True)]
"""A number, or a name or percentage in its place."""

Int32 = Annotated[int, Schema(format="int32")]
Int64 = Annotated[int, Schema(format="int64")]

Arbitrary = Annotated[msgspec.Raw, Schema(preserve_unknown=True)]
"""Any JSON, kept as the original bytes."""

ABSENT = msgspec.Raw()
"""The default of an `Arbitrary` field; compare with `is_absent`."""


def is_absent(value: msgspec.Raw) -> bool:
    """Whether an `Arbitrary` field is missing or `null`, which mean the same."""
    return value is ABSENT or bytes(value) in (b"", b"null")
