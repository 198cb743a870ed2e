"""The types of the checker.

One class represents all of them. It also has what a schema declares beyond CEL's type (sizes for
the cost estimate, list semantics, whether stored JSON must be converted), which comparison ignores.
"""

import enum
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal


class Kind(enum.Enum):
    """The kind of a type."""

    DYN = "dyn"
    ERROR = "!error!"
    NULL = "null"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    DURATION = "duration"
    TIMESTAMP = "timestamp"
    LIST = "list"
    MAP = "map"
    STRUCT = "struct"
    OPAQUE = "opaque"
    TYPE = "type"
    PARAM = "param"

    __hash__ = object.__hash__  # members are the same only if identical; Enum's own hash is slow


_NO_FIELDS: "Mapping[str, StructField]" = MappingProxyType({})


class Type:
    """A CEL type; immutable once built."""

    __slots__ = (
        "convert",
        "fields",
        "generic",
        "kind",
        "list_keys",
        "list_kind",
        "max_elements",
        "min_size",
        "name",
        "nullable",
        "params",
        "special",
    )

    def __init__(
        self,
        kind: Kind,
        name: str,
        params: Sequence["Type"] = (),
        *,
        fields: "Mapping[str, StructField] | None" = None,
        max_elements: int = 0,
        min_size: int = 0,
        nullable: bool = False,
        list_kind: Literal["", "set", "map"] = "",
        list_keys: tuple[str, ...] = (),
        convert: str = "",
        special: bool = False,
    ) -> None:
        self.kind = kind
        self.name = name
        self.params = tuple(params)
        self.fields: Mapping[str, StructField] = fields if fields is not None else _NO_FIELDS
        self.max_elements = max_elements
        """The largest size that the schema allows; 0 for types without a size."""
        self.min_size = min_size
        """The fewest bytes a value takes as JSON."""
        self.nullable = nullable
        """Whether stored JSON may hold null here."""
        self.list_kind: Literal["", "set", "map"] = list_kind
        self.list_keys = list_keys
        self.convert = convert
        """How stored JSON becomes a value: "", a scalar's format, "deep" if it contains one."""
        self.special = special
        """Whether equality and addition follow x-kubernetes-list-type somewhere inside."""
        self.generic = kind is Kind.PARAM
        """Whether type parameters occur."""
        for part in self.params:
            if part.convert and not self.convert:
                self.convert = "deep"
            self.special = self.special or part.special
            self.generic = self.generic or part.generic

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Type)
            and self.kind is other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.params))

    def __str__(self) -> str:
        match self.kind:
            case Kind.LIST | Kind.MAP | Kind.OPAQUE | Kind.TYPE if self.params:
                return f"{self.name}({', '.join(map(str, self.params))})"
            case Kind.TIMESTAMP:
                return "timestamp"
            case Kind.DURATION:
                return "duration"
            case Kind.NULL:
                return "null"
            case _:
                return self.name

    def __repr__(self) -> str:
        return f"Type({self})"


class OpenFields(Mapping[str, "StructField"]):
    """The members of a struct with arbitrary fields: each name is a field of type dyn."""

    def __getitem__(self, name: str) -> "StructField":
        return StructField(name, DYN)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class StructField:
    """A member of a struct: its name as stored, and its type."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type_: Type) -> None:
        self.name = name
        self.type = type_


DYN = Type(Kind.DYN, "dyn")
ERROR = Type(Kind.ERROR, "!error!")
NULL = Type(Kind.NULL, "null_type")
BOOL = Type(Kind.BOOL, "bool")
INT = Type(Kind.INT, "int")
UINT = Type(Kind.UINT, "uint")
DOUBLE = Type(Kind.DOUBLE, "double")
STRING = Type(Kind.STRING, "string")
BYTES = Type(Kind.BYTES, "bytes")
DURATION = Type(Kind.DURATION, "google.protobuf.Duration")
TIMESTAMP = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = Type(Kind.TYPE, "type")


def list_of(element: Type) -> Type:
    """`list(element)`."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """`map(key, value)`."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(inner: Type) -> Type:
    """`optional_type(inner)`."""
    return Type(Kind.OPAQUE, "optional_type", (inner,))


def type_of(inner: Type) -> Type:
    """The type of a type value."""
    return Type(Kind.TYPE, "type", (inner,))


def opaque(name: str) -> Type:
    """A type without fields, which only functions can access, such as `net.IP`."""
    return Type(Kind.OPAQUE, name)


def struct(name: str, fields: Mapping[str, Type] | None = None) -> Type:
    """An object with declared members; stored names equal CEL's names."""
    members = {key: StructField(key, member) for key, member in (fields or {}).items()}
    return Type(Kind.STRUCT, name, fields=members)


@functools.lru_cache(maxsize=64)
def param(name: str) -> Type:
    """A type parameter of a declaration."""
    return Type(Kind.PARAM, name)


LIST = list_of(DYN)
MAP = map_of(DYN, DYN)
QUANTITY = Type(Kind.STRUCT, "kubernetes.Quantity")
URL = Type(Kind.STRUCT, "kubernetes.URL")
SEMVER = Type(Kind.STRUCT, "kubernetes.Semver")
NAMED_FORMAT = Type(Kind.STRUCT, "kubernetes.NamedFormat")
IP = opaque("net.IP")
CIDR = opaque("net.CIDR")
AUTHORIZER = Type(Kind.STRUCT, "kubernetes.authorization.Authorizer")
PATH_CHECK = Type(Kind.STRUCT, "kubernetes.authorization.PathCheck")
GROUP_CHECK = Type(Kind.STRUCT, "kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = Type(Kind.STRUCT, "kubernetes.authorization.ResourceCheck")
REQUEST_AUTHORIZER = Type(
    Kind.STRUCT,
    AUTHORIZER.name,
    fields={"requestResource": StructField("requestResource", RESOURCE_CHECK)},
)
"""The type of `authorizer` where there is a request: it also has `requestResource`."""
DECISION = Type(Kind.STRUCT, "kubernetes.authorization.Decision")

SCALARS = frozenset({Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.DURATION, Kind.TIMESTAMP})
"""Kinds of a constant size."""

NAMED_TYPES: Mapping[str, Type] = {
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "null_type": NULL,
    "list": LIST,
    "map": MAP,
    "type": TYPE,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "optional_type": optional_of(DYN),
    "net.IP": IP,
    "net.CIDR": CIDR,
}
"""The types that an expression can name."""


def is_dyn(type_: Type) -> bool:
    """Whether checking is left to the evaluation."""
    return type_.kind is Kind.DYN or type_.kind is Kind.ERROR


def is_optional(type_: Type) -> bool:
    """Whether it is an `optional_type`."""
    return type_.kind is Kind.OPAQUE and type_.name == "optional_type"
