"""Migrations of stored objects to another version: a kind of 1.37."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.conditions import validate_conditions
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import NAME, build_column
from quarterdeck.server.registry.resource import Context, Object

_STATES = ("Running", "Failed", "Succeeded")


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    resource = get_mapping(value, "spec", "resource")
    name, group = resource.get("resource") or "", resource.get("group") or ""
    if not name:
        yield required("spec.resource.resource", "resource is required to be set")
    elif problems := names.check_dns1035_label(name):
        yield invalid("spec.resource.resource", name, ",".join(problems))
    if group and (problems := names.check_dns1123_subdomain(group)):
        yield invalid("spec.resource.group", group, ",".join(problems))


def _validate_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if get_mapping(value, "spec") != get_mapping(old, "spec"):
        kind = "storagemigration/v1.StorageVersionMigrationSpec"
        shown = format_go_struct(kind, get_mapping(value, "spec"))
        yield invalid("spec", shown, validators.IMMUTABLE)


def _validate_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    status, before = get_mapping(value, "status"), get_mapping(old, "status")
    conditions = get_items(status, "conditions")
    yield from validate_conditions(conditions, "status.conditions")
    version, was = status.get("resourceVersion") or "", before.get("resourceVersion") or ""
    if was and version != was:
        yield invalid("status.resourceVersion", version, validators.IMMUTABLE)
    is_true, was_true = _list_states(status), _list_states(before)
    if {"Succeeded", "Failed"} <= is_true:
        text = "Both success and failed conditions cannot be true at the same time"
        yield invalid("status.conditions", conditions, text)
    for state, word in (("Succeeded", "Success"), ("Failed", "Failed")):
        if state in was_true and state not in is_true:
            text = f"{word} condition cannot be set to false once it is true"
            yield invalid("status.conditions", conditions, text)


def _list_states(status: Object) -> set[str]:
    return {
        str(each.get("type"))
        for each in get_items(status, "conditions")
        if each.get("status") == "True"
    }


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    resource = get_mapping(value, "spec", "resource")
    name, group = resource.get("resource") or "", resource.get("group") or ""
    true = _list_states(get_mapping(value, "status"))
    state = next((each for each in reversed(_STATES) if each in true), "Unknown")
    return (value["metadata"].get("name", ""), f"{name}.{group}" if group else name, state)


STORAGE_VERSION_MIGRATION = Rules(
    validate=_validate,
    validate_change=_validate_change,
    validate_status=_validate_status,
    columns=(NAME, build_column("Resource"), build_column("Status")),
    cells=_build_cells,
)
