"""Who owns fields: what tells one manager from another."""

from typing import NamedTuple

import msgspec

UPDATE, APPLY = "Update", "Apply"


class Identity(NamedTuple):
    """A manager; an applier is the same one at every version, so it has none here."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, manager: str, operation: str, *, api_version: str, subresource: str) -> "Identity":
        """The identity of an entry of managedFields."""
        version = "" if operation == APPLY else api_version
        return cls(manager, operation, version, subresource)

    def key(self) -> str:
        """The identity as text: the order Kubernetes sorts managers by."""
        members = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        present = {name: value for name, value in members.items() if value}
        return msgspec.json.encode(present).decode()
