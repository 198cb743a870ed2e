"""The identity of a field manager: what distinguishes it from others."""

from typing import NamedTuple

import msgspec

UPDATE, APPLY = "Update", "Apply"


class Identity(NamedTuple):
    """A field manager; one that applies is the same at every version, so its version is empty."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, manager: str, operation: str, *, api_version: str, subresource: str) -> "Identity":
        """Build the identity of an entry of managedFields."""
        version = "" if operation == APPLY else api_version
        return cls(manager, operation, version, subresource)

    def key(self) -> str:
        """Return the identity as text, by which Kubernetes sorts managers."""
        members = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        present = {name: value for name, value in members.items() if value}
        return msgspec.json.encode(present).decode()
