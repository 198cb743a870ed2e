"""Rules that taint devices from outside of their slices: a kind of 1.37."""

from collections.abc import Sequence
from datetime import datetime

from quarterdeck.meta.field import too_many
from quarterdeck.server.kinds import device_fields
from quarterdeck.server.kinds.conditions import validate_conditions
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    build_column,
    format_age,
    format_creation_age,
)
from quarterdeck.server.registry.resource import STATUS, Context, Object

_MOST_CONDITIONS = 8


def _prepare_create(value: Object, context: Context) -> None:
    _set_time_added(value, context)


def _prepare_update(value: Object, old: Object, context: Context) -> None:
    """Reset `timeAdded` if the effect changed, unless the client set another time."""
    if context.subresource == STATUS:
        return
    taint, before = get_mapping(value, "spec", "taint"), get_mapping(old, "spec", "taint")
    is_other = taint.get("effect") != before.get("effect")
    if is_other and taint.get("timeAdded") == before.get("timeAdded"):
        taint.pop("timeAdded", None)
    _set_time_added(value, context)


def _set_time_added(value: Object, context: Context) -> None:
    taint = value.setdefault("spec", {}).setdefault("taint", {})
    set_defaults(taint, timeAdded=f"{context.now:%Y-%m-%dT%H:%M:%SZ}")


def _validate(value: Object, context: Context) -> FieldErrors:
    selector = get_mapping(value, "spec", "deviceSelector")
    for member, check in (
        ("driver", device_fields.validate_driver),
        ("pool", device_fields.validate_pool_name),
        ("device", device_fields.validate_label),
    ):
        if (name := selector.get(member)) is not None:
            yield from check(name, f"spec.deviceSelector.{member}")
    yield from device_fields.validate_taint(get_mapping(value, "spec", "taint"), "spec.taint")


def _validate_status(value: Object, old: Object, context: Context) -> FieldErrors:
    conditions = get_items(value, "status", "conditions")
    yield from validate_conditions(conditions, "status.conditions")
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many("status.conditions", len(conditions), _MOST_CONDITIONS)


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    taint = get_mapping(value, "spec", "taint")
    added = get_field(taint, "timeAdded")
    return (
        value["metadata"].get("name", ""),
        *(taint.get(each) or "" for each in ("key", "value", "effect")),
        format_age(added, now) if added else "",
        format_creation_age(value, now),
    )


DEVICE_TAINT_RULE = Rules(
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_status=_validate_status,
    generation_fields=("spec",),
    columns=(
        NAME,
        build_column("Key"),
        build_column("Value"),
        build_column("Effect"),
        build_column("TimeAdded"),
        AGE,
    ),
    cells=_build_cells,
)
