"""One version of one object in the cache: its bytes, and the fields that keys and lists need.

The watch path decodes metadata only; the typed object is decoded when it is used. Everything
here is immutable, so handing it out needs no copy.
"""

import sys
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from quarterdeck.meta.identity import GroupKind, GroupVersion, Key
from quarterdeck.meta.objects import Object, decode

T = TypeVar("T", bound=Object)


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of an owner reference that are needed to enqueue the owner."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None

    @property
    def group_kind(self) -> GroupKind:
        """What the reference is compared by; its version does not matter."""
        return GroupKind(GroupVersion.parse(self.api_version).group, self.kind)


class Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The metadata that predicates, mappings and the cache look at."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None
    managed_fields: msgspec.Raw = msgspec.Raw()
    """Not decoded; `transform` decides which entries are stored."""


class ObjectHead(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields that every object has."""

    metadata: Metadata = Metadata()
    api_version: str = ""
    kind: str = ""


_head: "msgspec.json.Decoder[ObjectHead]" = msgspec.json.Decoder(ObjectHead)
_any: "msgspec.json.Decoder[Any]" = msgspec.json.Decoder()

UNORDERED = -1
"""The version of an object whose resourceVersion is not a number: it has no order."""


def read_head(raw: bytes | msgspec.Raw) -> ObjectHead:
    """Decode the metadata of an encoded object; the rest is only skipped over.

    Raises:
        msgspec.DecodeError: if it is not an object with metadata.
    """
    return _head.decode(raw)


def parse_version(resource_version: str) -> int:
    """A resourceVersion as the number it is on every Kubernetes, else `UNORDERED`."""
    try:
        return int(resource_version)
    except ValueError:
        return UNORDERED


class Unpacker:
    """Restores the JSON of objects that it has packed."""

    __slots__ = ()

    def unpack(self, data: bytes) -> bytes:
        """The object's JSON."""
        raise NotImplementedError


class Snapshot(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An object as bytes with its identity. `metadata` and `typed` decode at each use.

    Caches hold very many of them, so they are small, and the garbage collector does not see them.
    """

    key: Key
    data: bytes
    """The object's JSON, or what `packed_by` made of it."""
    uid: str
    version: int
    generation: int
    packed_by: Unpacker | None = None

    @classmethod
    def of(cls, raw: bytes, metadata: Metadata | None = None) -> "Snapshot":
        """From encoded bytes, and their metadata if that is decoded already."""
        if metadata is None:
            metadata = read_head(raw).metadata
        key = Key(sys.intern(metadata.namespace), metadata.name)
        version = parse_version(metadata.resource_version)
        return cls(key, raw, metadata.uid, version, metadata.generation)

    def with_packed_data(self, data: bytes, packed_by: Unpacker) -> "Snapshot":
        """The same state with packed bytes."""
        return Snapshot(self.key, data, self.uid, self.version, self.generation, packed_by)

    @property
    def raw(self) -> bytes:
        """The object's JSON."""
        return self.data if self.packed_by is None else self.packed_by.unpack(self.data)

    @property
    def is_unordered(self) -> bool:
        """Whether its resourceVersion is not a number, so that it cannot be compared."""
        return self.version == UNORDERED

    def is_before(self, other: "Snapshot") -> bool:
        """Whether this state is older than another of the same name."""
        return self.version != UNORDERED and self.version < other.version

    def is_same(self, other: "Snapshot") -> bool:
        """Whether another snapshot is of the very same state."""
        return self.version == other.version != UNORDERED and self.uid == other.uid

    @property
    def metadata(self) -> Metadata:
        """Labels, annotations, owners and the rest."""
        return read_head(self.raw).metadata

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels, empty if there are none."""
        return self.metadata.labels or {}

    @property
    def document(self) -> Any:
        """The whole object as plain data."""
        return _any.decode(self.raw)

    def typed(self, kind: type[T]) -> T:
        """The object as a struct that remembers these bytes."""
        return decode(kind, self.data if self.packed_by is None else self.raw)

    def __repr__(self) -> str:
        return f"Snapshot({self.key}, version={self.version})"
