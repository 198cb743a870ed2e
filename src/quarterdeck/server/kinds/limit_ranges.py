"""Limit ranges: defaults and validation."""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.kinds.go_quantity import format_go_quantity
from quarterdeck.server.kinds.resource_names import (
    validate_container_resource_name,
    validate_resource_name,
)
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.server.registry.printer import NAME, UNKNOWN, build_column
from quarterdeck.server.registry.resource import Context, Object

_MEMBERS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_TYPES = ("Container", "PersistentVolumeClaim", "Pod")
_ONE = Quantity.of(1)


def _default(value: Object) -> None:
    """Fill in default limits from the maximum, and default requests from limits or minimum."""
    for limit in get_items(value, "spec", "limits"):
        if limit.get("type") != "Container":
            continue
        limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
        if limits:
            limit["default"] = limits
        if requests:
            limit["defaultRequest"] = requests


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, limit in enumerate(get_items(value, "spec", "limits")):
        place, kind = f"spec.limits[{index}]", limit.get("type") or ""
        yield from _validate_type(f"{place}.type", kind)
        if kind in seen:
            yield duplicate(f"{place}.type", kind)
        seen.add(kind)
        for member in _MEMBERS:
            for name in sorted(limit.get(member) or {}):
                if kind != "Pod" or not member.startswith("default"):
                    check = (
                        validate_container_resource_name
                        if kind in ("Container", "Pod")
                        else validate_resource_name
                    )
                    yield from check(f"{place}.{member}[{name}]", name)
        if kind == "Pod":
            for member in ("default", "defaultRequest"):
                if limit.get(member):
                    text = "may not be specified when `type` is 'Pod'"
                    yield forbidden(f"{place}.{member}", text)
        if kind == "PersistentVolumeClaim" and not _has_storage(limit):
            text = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{place}.limits", text)
        found = {name for member in _MEMBERS for name in limit.get(member) or {}}
        for name in sorted(found):
            yield from _compare(place, name, limit)


def _validate_type(path: str, kind: str) -> Iterator[FieldError]:
    problems = names.check_qualified_name(kind)
    yield from (invalid(path, kind, problem) for problem in problems)
    if not problems and "/" not in kind and kind not in _TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _has_storage(limit: Object) -> bool:
    return any("storage" in (limit.get(member) or {}) for member in ("min", "max"))


def _compare(place: str, name: str, limit: Object) -> Iterator[FieldError]:
    """Find contradictions between the limits of one resource."""
    is_pod = limit.get("type") == "Pod"
    least, most = _get(limit, "min", name), _get(limit, "max", name)
    default = None if is_pod else _get(limit, "default", name)
    request = None if is_pod else _get(limit, "defaultRequest", name)
    if least and most and least > most:
        text = f"min value {least} is greater than max value {most}"
        yield invalid(f"{place}.min[{name}]", format_go_quantity(least), text)
    where = f"{place}.defaultRequest[{name}]"
    if request and least and least > request:
        text = f"min value {least} is greater than default request value {request}"
        yield invalid(where, format_go_quantity(request), text)
    if request and most and request > most:
        text = f"default request value {request} is greater than max value {most}"
        yield invalid(where, format_go_quantity(request), text)
    if request and default and request > default:
        text = f"default request value {request} is greater than default limit value {default}"
        yield invalid(where, format_go_quantity(request), text)
    if default and least and least > default:
        text = f"min value {least} is greater than default value {default}"
        yield invalid(f"{place}.default[{name}]", format_go_quantity(least), text)
    if default and most and default > most:
        text = f"default value {default} is greater than max value {most}"
        yield invalid(f"{place}.default[{name}]", format_go_quantity(most), text)
    yield from _check_ratio(f"{place}.maxLimitRequestRatio[{name}]", name, limit)


def _check_ratio(path: str, name: str, limit: Object) -> Iterator[FieldError]:
    ratio = _get(limit, "maxLimitRequestRatio", name)
    if ratio is None:
        return
    if ratio < _ONE:
        yield invalid(path, format_go_quantity(ratio), f"ratio {ratio} is less than 1")
    least, most = _get(limit, "min", name), _get(limit, "max", name)
    if least and most and ratio.as_float() > (bound := most.as_float() / least.as_float()):
        text = f"ratio {ratio} is greater than max/min = {bound:f}"
        yield invalid(path, format_go_quantity(ratio), text)


def _get(limit: Mapping[str, Any], member: str, name: str) -> Quantity | None:
    amount = (limit.get(member) or {}).get(name)
    if amount is None:
        return None
    try:
        return Quantity.parse(str(amount))
    except QuantityError:
        return None  # reported with the amounts


def _name_range(value: Object, context: Context) -> None:
    """Set a generated name if the object has none, as Kubernetes does."""
    metadata = value["metadata"]
    if not metadata.get("name") and not metadata.get("generateName"):
        metadata["name"] = generate_uid(context.random)


LIMIT_RANGE = Rules(
    prepare_create=_name_range,
    required_lists=(("spec", "limits"),),
    default=_default,
    validate=_validate,
    allows_create_on_update=True,
    columns=(NAME, build_column("Created At", "date")),
    cells=lambda value, now: (
        value["metadata"].get("name", ""),
        value["metadata"].get("creationTimestamp") or UNKNOWN,
    ),
)
