"""How one object names another."""

from quarterdeck.meta.objects import Struct


class LocalObjectReference(Struct, frozen=True, kw_only=True):
    """An object of the same namespace."""

    name: str = ""
    """Name of the object."""


class ObjectReference(Struct, frozen=True, kw_only=True):
    """Any object, as events name it."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class SecretKeySelector(Struct, frozen=True, kw_only=True):
    """One key of a Secret in the same namespace."""

    name: str
    """Name of the Secret."""
    key: str
    """Key within the Secret."""
    optional: bool | None = None
    """Whether the Secret or its key may be missing."""


class ConfigMapKeySelector(Struct, frozen=True, kw_only=True):
    """One key of a ConfigMap in the same namespace."""

    name: str
    """Name of the ConfigMap."""
    key: str
    """Key within the ConfigMap."""
    optional: bool | None = None
    """Whether the ConfigMap or its key may be missing."""
