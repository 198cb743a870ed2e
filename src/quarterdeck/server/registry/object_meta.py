"""The metadata of a stored object, kept so that the object need not be decoded again.

Derived once per write (or lazily after a restart) and shared by selectors, watches and the life
cycle: identity, labels, owners, and whether a deletion is under way.
"""

import msgspec

from quarterdeck.storage import Entry


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An owner reference as garbage collection reads it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The members of `metadata` that the server reads often."""

    uid: str = ""
    labels: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None
    deletion_timestamp: str | None = None
    creation_timestamp: str | None = None


class _Stored(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


_decode = msgspec.json.Decoder(_Stored).decode


def decode_object_meta(resource: str, value: bytes) -> ObjectMeta:
    """Decode the metadata of a stored object; passed to the store when it is opened."""
    return _decode(value).metadata


def get_object_meta(entry: Entry) -> ObjectMeta:
    """Return the metadata of an entry; decoded now unless the store has derived it."""
    facts = entry.facts
    return (
        facts
        if isinstance(facts, ObjectMeta)
        else decode_object_meta(entry.key.resource, entry.value)
    )
