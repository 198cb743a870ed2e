"""Names of things: group, version, kind, resource, and the key of an object.

Named tuples, because they are dictionary keys on every hot path and hash in C.
"""

from typing import NamedTuple, NewType, Self

Uid = NewType("Uid", str)
"""A server-assigned identity that is never reused, unlike a name."""

ResourceVersion = NewType("ResourceVersion", str)
"""The API's opaque version of an object or list."""


class GroupVersion(NamedTuple):
    """An API group at one version; the core group is the empty string."""

    group: str
    version: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of manifests: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> Self:
        """Read an `apiVersion`.

        Raises:
            ValueError: if it is empty or has more than one slash.
        """
        group, slash, version = api_version.rpartition("/")
        if not version or "/" in group or (slash and not group):
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        return cls(group, version)


class GroupKind(NamedTuple):
    """A kind in a group, whatever its version: what an owner reference is compared by."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GVK(NamedTuple):
    """Group, version and kind: what `apiVersion` and `kind` of a manifest name."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        """The same without the version."""
        return GroupKind(self.group, self.kind)

    @classmethod
    def of(cls, api_version: str, kind: str) -> Self:
        """From the two members every manifest has."""
        group, version = GroupVersion.parse(api_version)
        return cls(group, version, kind)

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GVR(NamedTuple):
    """Group, version and plural resource: what a request path names."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of manifests of this resource."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`deployments.apps`, `pods`: how errors and storage name a resource."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class Key(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `namespace/name` or `name`."""
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)
