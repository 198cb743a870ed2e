"""managedFields entries: identity of managers, reading them and writing them back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.wire.apply.fieldset import Trie, read_fields, sort_fields
from quarterdeck.wire.apply.identity import APPLY, UPDATE, Identity
from quarterdeck.wire.apply.updater import Managers, VersionedFields

_FIELDS_TYPE = "FieldsV1"


class ManagedFieldsError(ValueError):
    """Raised when managedFields cannot be read; the message has the entry and the cause."""


class Managed(NamedTuple):
    """The fields of each manager, and when each entry last changed."""

    owners: Managers
    times: dict[Identity, str]


def decode(entries: Sequence[Mapping[str, Any]]) -> Managed:
    """Decode managedFields.

    Raises:
        ManagedFieldsError: if an entry is invalid.
    """
    managed = Managed({}, {})
    for index, entry in enumerate(entries):
        _check(entry, index)
        operation, version = entry["operation"], entry["apiVersion"]
        key = Identity.of(
            entry.get("manager", ""),
            operation,
            api_version=version,
            subresource=entry.get("subresource", ""),
        )
        try:
            fields = read_fields(entry.get("fieldsV1") or {})
        except (ValueError, AttributeError) as error:
            raise ManagedFieldsError(f"error decoding set of entry {index}: {error}") from None
        managed.owners[key] = VersionedFields(fields, version, applied=operation == APPLY)
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
    """Encode managedFields, sorted as in Kubernetes."""
    entries = [
        build_entry(key, _sort_fields(owned), managed.times.get(key))
        for key, owned in managed.owners.items()
    ]
    return sorted(entries, key=_build_sort_key)


def _sort_fields(owned: VersionedFields) -> VersionedFields:
    return VersionedFields(sort_fields(owned.fields), owned.api_version, applied=owned.applied)


def build_entry(identity: Identity, owned: VersionedFields, time: str | None) -> dict[str, Any]:
    """Build one entry of managedFields; its fields must be sorted."""
    entry: dict[str, Any] = {
        "manager": identity.manager,
        "operation": APPLY if owned.applied else identity.operation,
        "apiVersion": owned.api_version,
    }
    if time:
        entry["time"] = time
    entry |= {"fieldsType": _FIELDS_TYPE, "fieldsV1": owned.fields}
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def build_update_entry(
    manager: str, api_version: str, fields: Trie, *, time: str, subresource: str
) -> dict[str, Any]:
    """Build the entry of a manager with operation Update; `fields` must be sorted."""
    entry: dict[str, Any] = {
        "manager": manager,
        "operation": UPDATE,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": _FIELDS_TYPE,
        "fieldsV1": fields,
    }
    if not time:
        del entry["time"]
    if subresource:
        entry["subresource"] = subresource
    return entry


def _build_sort_key(entry: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time", ""),
        entry["manager"],
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def is_reset(entries: object) -> bool:
    """Whether a client resets all ownership: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])
