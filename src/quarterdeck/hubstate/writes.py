"""Writes to the state store as data: a closed union, so that keys and shapes are decided purely.

They are Redis' commands with Redis' meaning; the embedded driver carries them out the same way.
`ttl_s` is seconds until the key expires; None keeps it until it is deleted.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec


class SetValue(msgspec.Struct, frozen=True):
    """Replace a string value."""

    key: str
    value: bytes
    ttl_s: int | None = None


class SetFields(msgspec.Struct, frozen=True):
    """Set fields of a hash; others stay."""

    key: str
    fields: Mapping[str, str]
    ttl_s: int | None = None


class AddMembers(msgspec.Struct, frozen=True):
    """Add members to a set."""

    key: str
    members: tuple[str, ...]
    ttl_s: int | None = None


class RemoveMembers(msgspec.Struct, frozen=True):
    """Remove members from a set."""

    key: str
    members: tuple[str, ...]


class ReplaceMembers(msgspec.Struct, frozen=True):
    """Make a set consist of exactly these members; an empty set has no key."""

    key: str
    members: tuple[str, ...]
    ttl_s: int | None = None


class AddScored(msgspec.Struct, frozen=True):
    """Add members to a sorted set, and drop those with a score below `keep_from`."""

    key: str
    members: Mapping[str, float]
    keep_from: float | None = None
    ttl_s: int | None = None


class RemoveScored(msgspec.Struct, frozen=True):
    """Remove members from a sorted set."""

    key: str
    members: tuple[str, ...]


class PushItem(msgspec.Struct, frozen=True):
    """Put an item at the head of a list and keep at most `keep` of them."""

    key: str
    value: bytes
    keep: int
    ttl_s: int | None = None


class DeleteKeys(msgspec.Struct, frozen=True):
    """Delete keys of any type; absent ones are fine."""

    keys: tuple[str, ...]


class DeleteIfEqual(msgspec.Struct, frozen=True):
    """Delete a string value if it is still this one; anything else stays."""

    key: str
    value: bytes


class ExtendTtl(msgspec.Struct, frozen=True):
    """Extend TTLs to at least `ttl_s`; absent keys and keys without a TTL are skipped."""

    keys: tuple[str, ...]
    ttl_s: int


class Publish(msgspec.Struct, frozen=True):
    """Send a message to the subscribers of a channel when the writes take effect."""

    channel: str
    message: bytes


Write: TypeAlias = (
    SetValue
    | SetFields
    | AddMembers
    | RemoveMembers
    | ReplaceMembers
    | AddScored
    | RemoveScored
    | PushItem
    | DeleteKeys
    | DeleteIfEqual
    | ExtendTtl
    | Publish
)
