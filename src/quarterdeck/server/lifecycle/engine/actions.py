"""Actions of plans. A plan never writes by itself, and tests compare actions as plain values."""

from typing import Literal

import msgspec

from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreKey


class Create(msgspec.Struct, frozen=True):
    """Store a new object; `generateName` is honoured, the namespace is in the metadata.

    An object of that name that exists already is left as it is.
    """

    resource: str
    value: Object


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Replace an object that was read at a revision; nothing happens if it has moved on."""

    key: StoreKey
    revision: int
    value: Object
    subresource: str = ""
    """`status`, `finalize`, … as a client's request would name it."""


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """Apply these members to an object as a server-side apply by force would, if it is there."""

    key: StoreKey
    value: Object
    """The members to own, without kind and metadata."""
    subresource: str = ""


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """Begin to delete an object, as a DELETE request would; another uid is left alone."""

    key: StoreKey
    uid: str
    policy: Literal["Background", "Foreground", "Orphan"] | None = "Background"
    grace_s: int | None = None


class Remove(msgspec.Struct, frozen=True, kw_only=True):
    """End an object that was read at a revision, whatever time it had left."""

    key: StoreKey
    revision: int


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Tell people what happened, by an Event about an object; repeated ones are counted."""

    about: Object
    reason: str
    message: str
    component: str
    is_warning: bool = False
    field_path: str = ""
    host: str = ""


class Requeue(msgspec.Struct, frozen=True):
    """Run the plan again after a while, if nothing else makes it run sooner."""

    seconds: float


Action = Create | Update | Apply | Delete | Remove | Record | Requeue
