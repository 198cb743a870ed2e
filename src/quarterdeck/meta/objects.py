"""Typed objects: metadata, decoding and encoding.

An object is a frozen struct; changing one returns another. It keeps the bytes that it was decoded
from (`get_raw`), so that fields which the types do not have survive an update: `to_document`
applies the changes of the typed object to the original document.
"""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from quarterdeck.meta.identity import GVK, Key, ResourceVersion, Uid
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import ABSENT, Arbitrary, Int64, Schema, Time
from quarterdeck.meta.nulls import drop_nulls
from quarterdeck.meta.overlay import apply_overlay


class Struct(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """The base of all API types: frozen, keyword-only, camelCase in JSON, defaults omitted.

    Subclasses repeat `frozen=True, kw_only=True`: type checkers do not inherit them.
    """


D = TypeVar("D")


def always_written(default: D) -> D:
    """Declare a default that is encoded too, such as a count of 0, which differs from absent."""
    written: D = msgspec.field(default_factory=lambda: default)
    return written


class OwnerReference(Struct, frozen=True, kw_only=True):
    """The object that this one is deleted with."""

    api_version: str
    """API version of the owner."""
    kind: str
    """Kind of the owner."""
    name: str
    """Name of the owner, which is in the same namespace or cluster-scoped."""
    uid: str
    """UID of the owner."""
    controller: bool | None = None
    """Whether this owner manages the object; at most one does."""
    block_owner_deletion: bool | None = None
    """Whether foreground deletion of the owner waits for this object."""


class ManagedFieldsEntry(Struct, frozen=True, kw_only=True):
    """The fields that one manager owns."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: str | None = None
    fields_type: str = ""
    fields_v1: Arbitrary = msgspec.field(name="fieldsV1", default=ABSENT)
    subresource: str = ""


class ObjectMeta(Struct, frozen=True, kw_only=True):
    """The metadata of every stored object."""

    name: str = ""
    """Name, unique within the namespace."""
    generate_name: str = ""
    """Prefix of a name that the server completes."""
    namespace: str = ""
    """Namespace; empty for cluster-scoped kinds."""
    uid: str = ""
    """Identity that is never reused; set by the server."""
    resource_version: str = ""
    """Opaque version; an update with it fails if the object has changed since."""
    generation: Int64 = 0
    """Counts the changes of the desired state; set by the server."""
    creation_timestamp: Time | None = None
    """When it was created; set by the server."""
    deletion_timestamp: Time | None = None
    """When deletion was requested; the object exists until its finalizers are removed."""
    deletion_grace_period_seconds: Int64 | None = None
    """Grace period of the deletion."""
    labels: Mapping[str, str] = {}
    """Labels, by which selectors select objects."""
    annotations: Mapping[str, str] = {}
    """Annotations: arbitrary data of tools and users."""
    owner_references: Annotated[
        tuple[OwnerReference, ...], Schema(list_type="map", list_map_keys=("uid",))
    ] = ()
    """Owners of the object; it is deleted when all of them are deleted."""
    finalizers: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Finalizers, which must all be removed before the object is deleted."""
    managed_fields: Annotated[tuple[ManagedFieldsEntry, ...], Schema(list_type="atomic")] = ()
    """Which manager owns which fields; set by the server."""
    self_link: str = ""
    """Deprecated and never set."""


class Object(Struct, frozen=True, kw_only=True, dict=True, gc=True):
    """The base of every kind. A kind sets `KIND`, from which `apiVersion` and `kind` are filled in.

    Raises:
        ValueError: if `apiVersion` or `kind` are those of another kind.
    """

    KIND: ClassVar[KindInfo]

    api_version: str = ""
    """API group and version of this object."""
    kind: str = ""
    """Kind of this object."""
    metadata: ObjectMeta = ObjectMeta()
    """Name, labels and the rest that every object has."""

    def __post_init__(self) -> None:
        info = self.KIND
        api_version = info.api_version
        if not self.api_version:
            msgspec.structs.force_setattr(self, "api_version", api_version)
        if not self.kind:
            msgspec.structs.force_setattr(self, "kind", info.kind)
        if self.kind != info.kind or self.api_version != api_version:
            raise ValueError(
                f"expected apiVersion {api_version}, kind {info.kind}; "
                f"got apiVersion {self.api_version}, kind {self.kind}"
            )

    @classmethod
    def gvk(cls) -> GVK:
        """Group, version and kind of the class."""
        return cls.KIND.gvk

    @property
    def key(self) -> Key:
        """Namespace and name of the object."""
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def uid(self) -> Uid:
        """The server-assigned identity."""
        return Uid(self.metadata.uid)

    @property
    def resource_version(self) -> ResourceVersion:
        """The version that was read."""
        return ResourceVersion(self.metadata.resource_version)

    @property
    def is_deleting(self) -> bool:
        """Whether deletion has begun."""
        return self.metadata.deletion_timestamp is not None


T = TypeVar("T", bound=Object)


class DecodeError(ValueError):
    """Raised when bytes are not an object of the kind they should be; names the field."""


_RAW = "raw"
_ENCODER = msgspec.json.Encoder()


def decode(kind: type[T], data: bytes) -> T:
    """Decode an object and keep `data` for `get_raw`.

    A `null` that the type does not allow counts as absent, as in Go.

    Raises:
        DecodeError: if the bytes are not JSON or do not fit the kind.
    """
    try:
        found: T = get_decoder(kind).decode(data)
    except msgspec.ValidationError:
        found = _decode_leniently(kind, data)
    except msgspec.DecodeError as error:
        raise DecodeError(f"{kind.__name__}: {error}") from error
    found.__dict__[_RAW] = data
    return found


def _decode_leniently(kind: type[T], data: bytes) -> T:
    try:
        known = drop_nulls(msgspec.json.decode(data), kind)
        found: T = get_decoder(kind).decode(_ENCODER.encode(known))
        return found
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise DecodeError(f"{kind.__name__}: {error}") from error


@functools.cache
def get_decoder(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """Return the decoder of a kind; cached."""
    return msgspec.json.Decoder(kind)


def encode(obj: msgspec.Struct) -> bytes:
    """Encode the typed fields as compact JSON; `to_document` has the unknown ones too."""
    return _ENCODER.encode(obj)


def get_raw(obj: Object) -> bytes | None:
    """Return the bytes an object was decoded from, also after `replace`; None if it was not."""
    found: bytes | None = obj.__dict__.get(_RAW)
    return found


def replace(obj: T, **changes: object) -> T:
    """Return a changed copy that keeps the bytes of `get_raw`."""
    changed = msgspec.structs.replace(obj, **changes)
    if (origin := obj.__dict__.get(_RAW)) is not None:
        changed.__dict__[_RAW] = origin
    return changed


def with_metadata(obj: T, **changes: object) -> T:
    """Return a copy with changed metadata: `with_metadata(pod, labels={...})`."""
    return replace(obj, metadata=msgspec.structs.replace(obj.metadata, **changes))


def to_builtins(obj: msgspec.Struct) -> dict[str, Any]:
    """Return the typed fields as plain dictionaries and lists."""
    plain: dict[str, Any] = msgspec.json.decode(_ENCODER.encode(obj))
    return plain


def to_document(obj: Object) -> dict[str, Any]:
    """Return the whole object as plain data: the original document with the changes applied.

    Fields that the types do not have are kept, also inside list entries if the entry can be
    identified by its `name`, `type`, `key`, `uid` or position.
    """
    known = to_builtins(obj)
    origin = get_raw(obj)
    if origin is None:
        return known
    before = to_builtins(decode(type(obj), origin))
    laid = apply_overlay(msgspec.json.decode(origin), before=before, after=known)
    return {"apiVersion": obj.api_version, "kind": obj.kind} | laid


def build_owner_reference(owner: Object, *, controller: bool = True) -> OwnerReference:
    """Build the reference by which an object is deleted with `owner`."""
    return OwnerReference(
        api_version=owner.KIND.api_version,
        kind=owner.KIND.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True if controller else None,
        block_owner_deletion=True if controller else None,
    )


def find_controller(obj: Object) -> OwnerReference | None:
    """Return the controlling owner of an object; None if it has none."""
    return next((ref for ref in obj.metadata.owner_references if ref.controller), None)
