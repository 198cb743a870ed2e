"""Slices of a pool of devices, which drivers publish."""

import functools
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import invalid, required, too_long
from quarterdeck.server.kinds import device_fields, validators
from quarterdeck.server.kinds.affinity_validation import validate_node_selector
from quarterdeck.server.kinds.device_capacity import validate_capacity
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_MOST_DEVICES, _MOST_ADVANCED_DEVICES = 128, 64
_MOST_COUNTER_SETS, _MOST_COUNTERS, _MOST_CONSUMPTIONS = 8, 32, 2
_MOST_ATTRIBUTES, _MOST_TAINTS, _LONGEST_VALUE = 32, 16, 64
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_NOT_EMPTY = "must not be empty"
_NUMBER = r"(0|[1-9]\d*)"
_EARLY = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = r"[0-9a-zA-Z-]+"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_EARLY}(\.{_EARLY})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
_VALUES = ("bool", "int", "string", "version")


def _prepare(value: Object, context: Context) -> None:
    """Set `timeAdded` of new taints, and drop the fields of features that are off."""
    for device in get_items(value, "spec", "devices"):
        for taint in get_items(device, "taints"):
            set_defaults(taint, timeAdded=f"{context.now:%Y-%m-%dT%H:%M:%SZ}")
        device.pop("nodeAllocatableResourceMappings", None)
        for attribute in get_mapping(device, "attributes").values():
            for member in _VALUES:
                attribute.pop(f"{member}s", None)


def _prepare_update(value: Object, old: Object, context: Context) -> None:
    _prepare(value, context)


def _validate_slice(value: Object, context: Context) -> FieldErrors:
    spec = get_mapping(value, "spec")
    yield from device_fields.validate_driver(spec.get("driver") or "", "spec.driver")
    yield from _validate_pool(get_mapping(spec, "pool"))


def _validate_pool(pool: Object) -> FieldErrors:
    yield from device_fields.validate_pool_name(pool.get("name") or "", "spec.pool.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        text = "must be greater than or equal to zero"
        yield invalid("spec.pool.generation", generation, text)


def _validate_new(value: Object, context: Context) -> FieldErrors:
    return _validate_contents(get_mapping(value, "spec"))


def _validate_change(value: Object, old: Object, context: Context) -> FieldErrors:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    for path in (("pool", "name"), ("driver",), ("nodeName",)):
        new = get_field(spec, *path)
        place = ".".join(("spec", *path))
        yield from validators.validate_immutable(place, new, get_field(before, *path))
    yield from _validate_contents(spec)


def _validate_contents(spec: Object) -> FieldErrors:
    yield from _validate_place(spec)
    counters, devices = spec.get("sharedCounters"), spec.get("devices")
    if counters is not None and devices is not None:
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    is_advanced = any(each.get("taints") or each.get("consumesCounters") for each in devices or ())
    yield from device_fields.validate_unique(
        devices or [],
        "spec.devices",
        most=_MOST_ADVANCED_DEVICES if is_advanced else _MOST_DEVICES,
        check=functools.partial(_validate_device, spec=spec),
        key="name",
    )
    yield from device_fields.validate_unique(
        counters or [],
        "spec.sharedCounters",
        most=_MOST_COUNTER_SETS,
        check=functools.partial(_validate_counters, member="name"),
        key="name",
    )


# where devices are -------------------------------------------------------------------------------


def _validate_place(spec: Object) -> FieldErrors:
    present = []
    for member in _PLACES:
        given = spec.get(member)
        if given is None:
            continue
        yield from _validate_place_member(member, given, "spec")
        if given:
            present.append(f"`{member}`")
    choices = ", ".join(f"`{each}`" for each in _PLACES)
    if not present:
        yield required("spec", f"exactly one of {choices} is required")
    elif len(present) > 1:
        text = f"exactly one of {choices} is required, but multiple fields are set"
        yield invalid("spec", f"{{{', '.join(present)}}}", text)


def _validate_place_member(member: str, given: Any, path: str) -> FieldErrors:
    if member == "nodeName":
        if not given:
            is_slice = path == "spec"
            text = "must be either unset or set to a non-empty string" if is_slice else _NOT_EMPTY
            yield invalid(f"{path}.nodeName", given, text)
        for problem in names.check_dns1123_subdomain(given) if given else ():
            yield invalid(f"{path}.nodeName", given, problem)
    elif member == "nodeSelector":
        terms = get_items(given, "nodeSelectorTerms")
        yield from validate_node_selector(given, f"{path}.nodeSelector", checks_values=True)
        if path == "spec" and len(terms) != 1:
            text = "must have exactly one node selector term"
            shown = format_go_struct("core/v1.NodeSelector", given, "nodeSelectorTerms")
            yield invalid(f"{path}.nodeSelector.nodeSelectorTerms", shown, text)
    elif not given:
        yield invalid(f"{path}.{member}", given, "must be either unset or set to true")


# devices -----------------------------------------------------------------------------------------


def _validate_device(device: Object, path: str, *, spec: Object) -> FieldErrors:
    yield from device_fields.validate_label(device.get("name") or "", f"{path}.name")
    attributes, capacity = get_mapping(device, "attributes"), get_mapping(device, "capacity")
    if (total := len(attributes) + len(capacity)) > _MOST_ATTRIBUTES:
        text = f"the total number of attributes and capacities must not exceed {_MOST_ATTRIBUTES}"
        yield invalid(path, total, text)
    for name in sorted(attributes):
        place = f"{path}.attributes"
        yield from device_fields.validate_attribute_name(name, place)
        yield from _validate_attribute(attributes[name], f"{place}[{name}]")
    for name in sorted(capacity):
        place = f"{path}.capacity"
        yield from device_fields.validate_attribute_name(name, place)
        yield from validate_capacity(device, capacity[name], f"{place}[{name}]")
    yield from device_fields.validate_items(
        get_items(device, "taints"),
        f"{path}.taints",
        most=_MOST_TAINTS,
        check=device_fields.validate_taint,
    )
    yield from device_fields.validate_unique(
        get_items(device, "consumesCounters"),
        f"{path}.consumesCounters",
        most=_MOST_CONSUMPTIONS,
        check=functools.partial(_validate_counters, member="counterSet"),
        key="counterSet",
    )
    yield from _validate_device_place(device, path, is_own=bool(spec.get("perDeviceNodeSelection")))
    yield from device_fields.validate_bindings(device, path)


def _validate_attribute(attribute: Object, path: str) -> FieldErrors:
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and len(text) > _LONGEST_VALUE:
        yield too_long(f"{path}.string", text, _LONGEST_VALUE)
    if version is not None:
        if not _VERSION.fullmatch(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            yield invalid(f"{path}.version", version, detail)
        if len(version) > _LONGEST_VALUE:
            yield too_long(f"{path}.version", version, _LONGEST_VALUE)
    given = [attribute.get(member) for member in _VALUES]
    count = sum(each is not None for each in given)
    if count != 1:
        shown = format_go_struct("resource/v1.DeviceAttribute", attribute) if count else ""
        yield invalid(path, shown, "exactly one value must be specified")


def _validate_device_place(device: Object, path: str, *, is_own: bool) -> FieldErrors:
    members = [each for each in _PLACES[:3] if device.get(each) is not None]
    if not is_own:
        if members:
            text = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if"
                " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            )
            yield invalid(path, None, text)
        return
    for member in members:
        yield from _validate_place_member(member, device[member], path)
    present = [f"`{each}`" for each in members if device[each]]
    text = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
        " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
    )
    if not present:
        yield required(path, text)
    elif len(present) > 1:
        yield invalid(path, f"{{{', '.join(present)}}}", text)


def _validate_counters(counters: Object, path: str, *, member: str) -> FieldErrors:
    """Check a set of counters, or what a device consumes of one."""
    name = counters.get(member) or ""
    if not name:
        yield required(f"{path}.{member}")
    else:
        yield from device_fields.validate_label(name, f"{path}.{member}")
    amounts = get_mapping(counters, "counters")
    if not amounts:
        yield required(f"{path}.counters")
    for each in sorted(amounts):
        yield from device_fields.validate_label(each, f"{path}.counters")


def _find_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    driver = get_mapping(value, "spec").get("driver") or ""
    if driver == driver.lower():
        return ()
    return (
        f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters',
    )


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    return (
        value["metadata"].get("name", ""),
        spec.get("nodeName") or "",
        spec.get("driver") or "",
        get_field(spec, "pool", "name") or "",
        format_creation_age(value, now),
    )


RESOURCE_SLICE = Rules(
    prepare_create=_prepare,
    prepare_update=_prepare_update,
    validate=_validate_slice,
    validate_new=_validate_new,
    validate_change=_validate_change,
    warn=_find_warnings,
    generation_fields=("spec",),
    selectable={"spec.nodeName": "", "spec.driver": ""},
    columns=(NAME, build_column("Node"), build_column("Driver"), build_column("Pool"), AGE),
    cells=_build_cells,
)
