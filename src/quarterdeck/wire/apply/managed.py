"""managedFields entries: identity of managers, reading them and writing them back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from quarterdeck.wire.apply.fieldset import canonical, ordered
from quarterdeck.wire.apply.updater import Managers, Owned

UPDATE, APPLY = "Update", "Apply"
_FIELDS_TYPE = "FieldsV1"


class ManagedFieldsError(ValueError):
    """Raised when managedFields cannot be read; says which entry and why."""


class Identity(NamedTuple):
    """What tells managers apart; an applier is the same one at every version."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def key(self) -> str:
        """The identity as text, which is how managers are sorted and compared."""
        members = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": "" if self.operation == APPLY else self.api_version,
            "subresource": self.subresource,
        }
        present = {name: value for name, value in members.items() if value}
        return msgspec.json.encode(present).decode()

    @classmethod
    def parse(cls, key: str) -> "Identity":
        """Read a `key` back."""
        members = msgspec.json.decode(key, type=dict[str, str])
        return cls(
            members.get("manager", ""),
            members.get("operation", ""),
            members.get("apiVersion", ""),
            members.get("subresource", ""),
        )


class Managed(NamedTuple):
    """Who owns what, and when each entry last changed."""

    owners: Managers
    times: dict[str, str]


def decode(entries: Sequence[Mapping[str, Any]]) -> Managed:
    """Read managedFields.

    Raises:
        ManagedFieldsError: if an entry is not one Kubernetes could have written.
    """
    managed = Managed({}, {})
    for index, entry in enumerate(entries):
        _check(entry, index)
        operation, version = entry["operation"], entry["apiVersion"]
        key = Identity(
            entry.get("manager", ""), operation, version, entry.get("subresource", "")
        ).key()
        try:
            fields = canonical(entry.get("fieldsV1") or {})
        except (ValueError, AttributeError) as error:
            raise ManagedFieldsError(f"error decoding set of entry {index}: {error}") from None
        managed.owners[key] = Owned(fields, version, applied=operation == APPLY)
        if entry.get("time"):
            managed.times[key] = entry["time"]
    return managed


def _check(entry: Mapping[str, Any], index: int) -> None:
    if entry.get("operation") not in (APPLY, UPDATE):
        raise ManagedFieldsError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ManagedFieldsError("apiVersion must not be empty")
    fields_type = entry.get("fieldsType")
    if not fields_type:
        raise ManagedFieldsError(f"missing fieldsType in managed fields entry {index}")
    if fields_type != _FIELDS_TYPE:
        raise ManagedFieldsError(
            f'invalid fieldsType "{fields_type}" in managed fields entry {index}'
        )


def encode(managed: Managed) -> list[dict[str, Any]]:
    """ManagedFields as Kubernetes writes and sorts them."""
    entries = [
        _entry(Identity.parse(key), owned, managed.times.get(key))
        for key, owned in managed.owners.items()
    ]
    return sorted(entries, key=_order)


def _entry(identity: Identity, owned: Owned, time: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": identity.manager,
        "operation": APPLY if owned.applied else identity.operation,
        "apiVersion": owned.api_version,
    }
    if time is not None:
        entry["time"] = time
    entry |= {"fieldsType": _FIELDS_TYPE, "fieldsV1": ordered(owned.fields)}
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def _order(entry: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time", ""),
        entry["manager"],
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def is_reset(entries: object) -> bool:
    """Whether a client asks to forget all ownership: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])
