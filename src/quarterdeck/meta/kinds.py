"""The description of a kind besides its fields: names, scope, versions, columns.

Each kind carries one `KindInfo` in its class variable `KIND`; the scheme, the client's paths, the
CRD generator and the reference pages read it.
"""

import enum
from functools import cached_property

import msgspec

from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.schema import Rule


class Scope(enum.StrEnum):
    """Whether objects of a kind are in a namespace or cluster-scoped."""

    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of `kubectl get`; columns of priority above 0 show with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""


AGE = Column(name="Age", type="date", path=".metadata.creationTimestamp")
"""The last column of nearly every kind."""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of the `scale` subresource."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


class KindInfo(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The declaration of one kind at one version.

    `subresource_status` separates spec from status writes. Exactly one version of a kind has
    `storage`. `rules` are CEL rules over the whole object.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: Scope = Scope.NAMESPACED
    subresource_status: bool = True
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    served: bool = True
    storage: bool = True
    deprecated: bool = False
    deprecation_warning: str = ""
    rules: tuple[Rule, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @cached_property
    def gvk(self) -> GVK:
        """Group, version and kind."""
        return GVK(self.group, self.version, self.kind)

    @cached_property
    def gvr(self) -> GVR:
        """Group, version and plural resource."""
        return GVR(self.group, self.version, self.plural)

    @cached_property
    def api_version(self) -> str:
        """The `apiVersion` of manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        """The kind of a list of these."""
        return f"{self.kind}List"

    @cached_property
    def is_namespaced(self) -> bool:
        """Whether objects of the kind are in a namespace."""
        return self.scope is Scope.NAMESPACED
