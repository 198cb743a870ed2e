"""What the four kinds share: group, version, the finalizer and references to Secrets."""

from typing import Annotated

from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Struct

GROUP = "clusterpulse.io"
VERSION = "v1alpha1"
FINALIZER = "clusterpulse.io/finalizer"
"""Keeps an object until its stored data is deleted."""

MIN_INTERVAL_S = 30
"""No object is checked more often than this."""
MIN_TIMEOUT_S = 5


class SecretReference(Struct, frozen=True, kw_only=True):
    """A Secret with credentials."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the Secret."""
    namespace: str = ""
    """Namespace of the Secret; the namespace of the object if left out."""
