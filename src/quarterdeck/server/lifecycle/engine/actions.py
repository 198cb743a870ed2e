"""Actions that plans return. A plan never writes itself, so tests compare actions as values."""

from typing import Literal

import msgspec

from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreKey

Policy = Literal["Background", "Foreground", "Orphan"]
"""What happens to the dependents of a deleted object."""


class Create(msgspec.Struct, frozen=True):
    """Create an object; its namespace, and its name or `generateName`, are in the metadata.

    An existing object of that name is left unchanged.
    """

    resource: str
    value: Object


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Replace an object that was read at a revision; skipped if it changed since."""

    key: StoreKey
    revision: int
    value: Object
    subresource: str = ""
    """`status`, `finalize`, … as a client's request would name it."""
    is_last: bool = False
    """Whether the same controller has nothing to do after this write: it triggers no new plan."""


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """Apply members to an object by forced server-side apply; skipped if it does not exist."""

    key: StoreKey
    value: Object
    """The members to apply, without kind and metadata."""
    subresource: str = ""


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """Delete an object, as a DELETE request would; skipped if it has another uid."""

    key: StoreKey
    uid: str
    policy: Policy | None = "Background"
    grace_s: int | None = None
    revision: int | None = None
    """The revision it was read at, if it may be deleted in that state only."""
    with_unserved: bool = False
    """Whether it is removed if no version of its kind is served; else it is left then."""


class Remove(msgspec.Struct, frozen=True, kw_only=True):
    """Remove an object that was read at a revision, whatever finalizers and grace period it has."""

    key: StoreKey
    revision: int


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Record an Event about an object; a repeated one increases the count of the first."""

    about: Object
    reason: str
    message: str
    component: str
    is_warning: bool = False
    field_path: str = ""
    host: str = ""


class Requeue(msgspec.Struct, frozen=True):
    """Run the plan again after some seconds, unless an event triggers it sooner."""

    seconds: float


Action = Create | Update | Apply | Delete | Remove | Record | Requeue
