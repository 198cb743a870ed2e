"""How kinds of the group name other objects."""

from typing import Annotated

from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Struct


class ObjectReference(Struct, frozen=True, kw_only=True):
    """An object of this group, by name."""

    name: Annotated[str, Schema(min_length=1, max_length=253)]
    """Name of the object."""
    namespace: str = ""
    """Namespace of the object; that of the referrer if left out."""


class SecretKeySelector(Struct, frozen=True, kw_only=True):
    """One key of a Secret."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the Secret."""
    key: Annotated[str, Schema(min_length=1)]
    """Key within the Secret."""
    namespace: str = ""
    """Namespace of the Secret. Only the referrer's own is read; another one is refused."""
    optional: bool = False
    """Whether the Secret or its key may be missing; the value is then empty."""
