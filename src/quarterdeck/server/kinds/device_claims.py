"""Claims of devices, and the templates that claims of pods are made from."""

import functools
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import go_literal, names
from quarterdeck.meta.field import Verbatim, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import device_fields, validators
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.metadata_validation import validate_annotations, validate_labels
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_MODES = ("All", "ExactCount")
_MOST_REQUESTS = 32
_MOST_ALTERNATIVES = 8
_MOST_CONSTRAINTS = 32
_MOST_CONSUMERS = 256
_CLAIM_SPEC = "resource/v1.ResourceClaimSpec"
_TEMPLATE_SPEC = "resource/v1.ResourceClaimTemplateSpec"


def default_requests(spec: Object) -> None:
    """Fill in how many devices a request wants."""
    for request in get_items(spec, "devices", "requests"):
        exact = [request["exactly"]] if request.get("exactly") is not None else []
        for each in (*exact, *get_items(request, "firstAvailable")):
            if not each.get("allocationMode"):
                each["allocationMode"] = "ExactCount"
            for toleration in get_items(each, "tolerations"):
                if not toleration.get("operator"):
                    toleration["operator"] = "Equal"
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                each["count"] = 1


def validate_claim_spec(spec: Object, path: str) -> FieldErrors:
    """Check the spec of a claim, or of those that a template makes."""
    devices, path = get_mapping(spec, "devices"), f"{path}.devices"
    requests = get_items(devices, "requests")
    known = _list_request_names(requests)
    yield from device_fields.validate_unique(
        requests, f"{path}.requests", most=_MOST_REQUESTS, check=_validate_request, key="name"
    )
    yield from device_fields.validate_items(
        get_items(devices, "constraints"),
        f"{path}.constraints",
        most=_MOST_CONSTRAINTS,
        check=functools.partial(_validate_constraint, known=known),
    )
    yield from device_fields.validate_configs(
        get_items(devices, "config"),
        f"{path}.config",
        functools.partial(_validate_references, known=known),
    )


def _list_request_names(requests: Sequence[Object]) -> frozenset[str]:
    """The names by which requests, and alternatives of requests, can be referred to."""
    plain = {each.get("name") or "" for each in requests}
    below = {
        f"{each.get('name') or ''}/{other.get('name') or ''}"
        for each in requests
        for other in get_items(each, "firstAvailable")
    }
    return frozenset(plain | below)


def _validate_request(request: Object, path: str) -> FieldErrors:
    yield from device_fields.validate_label(request.get("name") or "", f"{path}.name")
    alternatives, exact = get_items(request, "firstAvailable"), request.get("exactly")
    if not alternatives and exact is None:
        yield required(path, "exactly one of `exactly` or `firstAvailable` is required")
    elif alternatives and exact is not None:
        text = (
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        )
        yield invalid(path, None, text)
    elif exact is not None:
        yield from _validate_device_choice(exact, f"{path}.exactly")
    else:
        yield from device_fields.validate_unique(
            alternatives,
            f"{path}.firstAvailable",
            most=_MOST_ALTERNATIVES,
            check=_validate_alternative,
            key="name",
        )


def _validate_alternative(request: Object, path: str) -> FieldErrors:
    yield from device_fields.validate_label(request.get("name") or "", f"{path}.name")
    yield from _validate_device_choice(request, path)


def _validate_device_choice(request: Object, path: str) -> FieldErrors:
    """Check which devices are wanted, and how many."""
    name = request.get("deviceClassName") or ""
    if not name:
        yield required(f"{path}.deviceClassName")
    else:
        for problem in names.check_dns1123_subdomain(name):
            yield invalid(f"{path}.deviceClassName", name, problem)
    yield from device_fields.validate_selectors(
        get_items(request, "selectors"), f"{path}.selectors"
    )
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All" and count:
        text = "must not be specified when allocationMode is 'All'"
        yield invalid(f"{path}.count", count, text)
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")
    elif mode not in _MODES:
        yield not_supported(f"{path}.allocationMode", mode, _MODES)
    for index, each in enumerate(get_items(request, "tolerations")):
        yield from device_fields.validate_toleration(each, f"{path}.tolerations[{index}]")


def _validate_constraint(constraint: Object, path: str, *, known: frozenset[str]) -> FieldErrors:
    yield from _validate_references(constraint, path, known=known)
    for member in ("matchAttribute", "distinctAttribute"):
        if (text := constraint.get(member)) is not None:
            place = f"{path}.{member}"
            yield from device_fields.validate_full_attribute_name(text, place)
            return
    text = (
        'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields'
        " are set"
    )
    yield required(path, text)


def _validate_references(value: Object, path: str, *, known: frozenset[str]) -> FieldErrors:
    """Check the names of requests that something is about."""
    yield from device_fields.validate_unique(
        get_items(value, "requests"),
        f"{path}.requests",
        most=_MOST_REQUESTS,
        check=functools.partial(_validate_reference, known=known),
    )


def _validate_reference(name: str, path: str, *, known: frozenset[str]) -> FieldErrors:
    text = (
        "must be the name of a request in the claim or the name of a request and a subrequest"
        " separated by '/'"
    )
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(path, name, text)
        return
    for part in parts:
        yield from device_fields.validate_label(part, path)
    if name not in known:
        yield invalid(path, name, text)


# claims ------------------------------------------------------------------------------------------


def _default_claim(value: Object) -> None:
    default_requests(value.setdefault("spec", {}))


def _validate_new_claim(value: Object, context: Context) -> FieldErrors:
    return validate_claim_spec(get_mapping(value, "spec"), "spec")


def _validate_claim_change(value: Object, old: Object, context: Context) -> FieldErrors:
    if get_mapping(value, "spec") != get_mapping(old, "spec"):
        shown = format_go_struct(_CLAIM_SPEC, get_mapping(value, "spec"))
        yield invalid("spec", shown, validators.IMMUTABLE)


def _prepare_claim_update(value: Object, old: Object, context: Context) -> None:
    """Forget what was reported of devices that the claim gave back."""
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
    known = _list_request_names(get_items(value, "spec", "devices", "requests"))
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
    """Whether a claim that is deleted gets another consumer."""
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
        yield from _validate_reference(name, f"{place}.request", known=known)
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
    yield from _validate_references(config, path, known=known)


def _build_claim_cells(value: Object, now: datetime) -> Sequence[object]:
    status, states = get_mapping(value, "status"), []
    if value["metadata"].get("deletionTimestamp"):
        states.append("deleted")
    if status.get("allocation") is None:
        states += [] if states else ["pending"]
    else:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    return (value["metadata"].get("name", ""), ",".join(states), format_creation_age(value, now))


CLAIM = Rules(
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
    yield from validate_claim_spec(get_mapping(value, "spec", "spec"), "spec.spec")


def _validate_template_change(value: Object, old: Object, context: Context) -> FieldErrors:
    if get_mapping(value, "spec") != get_mapping(old, "spec"):
        shown = format_go_struct(_TEMPLATE_SPEC, get_mapping(value, "spec"))
        yield invalid("spec", shown, validators.IMMUTABLE)


CLAIM_TEMPLATE = Rules(
    default=_default_template,
    validate=_validate_template,
    validate_change=_validate_template_change,
)
