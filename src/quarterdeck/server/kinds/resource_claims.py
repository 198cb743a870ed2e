"""Claims of devices, and the templates that claims of pods are made from."""

import functools
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import go_literal
from quarterdeck.meta.field import Verbatim, forbidden, invalid, required
from quarterdeck.server.kinds import device_fields, validators
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.device_requests import (
    default_requests,
    list_request_names,
    validate_reference,
    validate_references,
    validate_requests,
)
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.metadata_validation import validate_annotations, validate_labels
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_MOST_CONSUMERS = 256
_CLAIM_SPEC = "resource/v1.ResourceClaimSpec"
_TEMPLATE_SPEC = "resource/v1.ResourceClaimTemplateSpec"


# claims ------------------------------------------------------------------------------------------


def _default_claim(value: Object) -> None:
    default_requests(value.setdefault("spec", {}))


def _validate_new_claim(value: Object, context: Context) -> FieldErrors:
    return validate_requests(get_mapping(value, "spec"), "spec")


def _validate_claim_change(value: Object, old: Object, context: Context) -> FieldErrors:
    if get_mapping(value, "spec") != get_mapping(old, "spec"):
        shown = format_go_struct(_CLAIM_SPEC, get_mapping(value, "spec"))
        yield invalid("spec", shown, validators.IMMUTABLE)


def _prepare_claim_update(value: Object, old: Object, context: Context) -> None:
    """Drop the reported status of devices that are not allocated to the claim any more."""
    if context.subresource != "status":
        return
    status = value.get("status") or {}
    gone = _list_devices(get_mapping(old, "status")) - _list_devices(status)
    if gone and status.get("devices"):
        kept = [each for each in status["devices"] if _identify(each) not in gone]
        value["status"] = {name: each for name, each in status.items() if name != "devices"}
        if kept:
            value["status"]["devices"] = kept


def _list_devices(status: Object) -> frozenset[tuple[str, ...]]:
    return frozenset(map(_identify, get_items(status, "allocation", "devices", "results")))


def _identify(device: Object) -> tuple[str, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def _validate_claim_status(value: Object, old: Object, context: Context) -> FieldErrors:
    status, before = get_mapping(value, "status"), get_mapping(old, "status")
    known = list_request_names(get_items(value, "spec", "devices", "requests"))
    yield from device_fields.validate_unique(
        get_items(status, "reservedFor"),
        "status.reservedFor",
        most=_MOST_CONSUMERS,
        check=_validate_consumer,
        key="uid",
    )
    allocated = _list_devices(status)
    for index, device in enumerate(get_items(status, "devices")):
        path = f"status.devices[{index}]"
        yield from _validate_device(device, path)
        if _identify(device) not in allocated:
            shown = dict(
                zip(("Driver", "Pool", "Device", "ShareID"), _identify(device), strict=True)
            )
            yield invalid(
                path,
                Verbatim(go_literal.encode(shown)),
                "must be an allocated device in the claim",
            )
    if status.get("reservedFor") and status.get("allocation") is None:
        text = "may not be specified when `allocated` is not set"
        yield forbidden("status.reservedFor", text)
    elif _is_reserved_late(value, status, before):
        text = (
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp`"
            " are set"
        )
        yield forbidden("status.reservedFor", text)
    yield from _validate_allocation(status.get("allocation"), before.get("allocation"), known)


def _is_reserved_late(value: Object, status: Object, before: Object) -> bool:
    """Whether a consumer is added to a claim that is being deleted."""
    if not value["metadata"].get("deletionTimestamp"):
        return False
    present = get_items(before, "reservedFor")
    return any(each not in present for each in get_items(status, "reservedFor"))


def _validate_consumer(consumer: Object, path: str) -> FieldErrors:
    for member in ("resource", "name", "uid"):
        if not consumer.get(member):
            yield required(f"{path}.{member}")


def _validate_device(device: Object, path: str) -> FieldErrors:
    yield from device_fields.validate_driver(device.get("driver") or "", f"{path}.driver")
    yield from device_fields.validate_pool_name(device.get("pool") or "", f"{path}.pool")
    yield from device_fields.validate_label(device.get("device") or "", f"{path}.device")


def _validate_allocation(new: Any, old: Any, known: frozenset[str]) -> FieldErrors:
    path = "status.allocation"
    if new is None:
        return
    if old is not None:
        if new != old:
            shown = format_go_struct("resource/v1.AllocationResult", new)
            yield invalid(path, shown, validators.IMMUTABLE)
        return
    for index, result in enumerate(get_items(new, "devices", "results")):
        place = f"{path}.devices.results[{index}]"
        name = result.get("request") or ""
        yield from validate_reference(name, f"{place}.request", known=known)
        yield from _validate_device(result, place)
        yield from device_fields.validate_bindings(result, place)
    yield from device_fields.validate_configs(
        get_items(new, "devices", "config"),
        f"{path}.devices.config",
        functools.partial(_validate_source, known=known),
    )


def _validate_source(config: Object, path: str, *, known: frozenset[str]) -> FieldErrors:
    source = config.get("source") or ""
    choices = ("FromClaim", "FromClass")
    yield from validators.validate_required_enum(f"{path}.source", source, choices)
    yield from validate_references(config, path, known=known)


def _build_claim_cells(value: Object, now: datetime) -> Sequence[object]:
    status, states = get_mapping(value, "status"), []
    if value["metadata"].get("deletionTimestamp"):
        states.append("deleted")
    if status.get("allocation") is None:
        states += [] if states else ["pending"]
    else:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    return (value["metadata"].get("name", ""), ",".join(states), format_creation_age(value, now))


RESOURCE_CLAIM = Rules(
    default=_default_claim,
    prepare_update=_prepare_claim_update,
    validate_new=_validate_new_claim,
    validate_change=_validate_claim_change,
    validate_status=_validate_claim_status,
    columns=(NAME, build_column("State"), AGE),
    cells=_build_claim_cells,
)


# templates ---------------------------------------------------------------------------------------


def _default_template(value: Object) -> None:
    default_requests(value.setdefault("spec", {}).setdefault("spec", {}))


def _validate_template(value: Object, context: Context) -> FieldErrors:
    metadata = get_mapping(value, "spec", "metadata")
    labels, notes = get_mapping(metadata, "labels"), get_mapping(metadata, "annotations")
    yield from validate_annotations(notes, "spec.metadata.annotations")
    yield from validate_labels(labels, "spec.metadata.labels")
    yield from validate_requests(get_mapping(value, "spec", "spec"), "spec.spec")


def _validate_template_change(value: Object, old: Object, context: Context) -> FieldErrors:
    if get_mapping(value, "spec") != get_mapping(old, "spec"):
        shown = format_go_struct(_TEMPLATE_SPEC, get_mapping(value, "spec"))
        yield invalid("spec", shown, validators.IMMUTABLE)


RESOURCE_CLAIM_TEMPLATE = Rules(
    default=_default_template,
    validate=_validate_template,
    validate_change=_validate_template_change,
)
