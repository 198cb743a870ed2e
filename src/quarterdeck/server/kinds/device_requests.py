"""Validation of the requests of device claims: alternatives, constraints and references."""

import functools
from collections.abc import Sequence

from quarterdeck.meta import names
from quarterdeck.meta.field import invalid, not_supported, required
from quarterdeck.server.kinds import device_fields
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object

_MODES = ("All", "ExactCount")
_MOST_REQUESTS = 32
_MOST_ALTERNATIVES = 8
_MOST_CONSTRAINTS = 32


def default_requests(spec: Object) -> None:
    """Fill in the allocation mode and count of requests, and the operators of tolerations."""
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


def validate_requests(spec: Object, path: str) -> FieldErrors:
    """Check the spec of a claim, or of a claim template."""
    devices, path = get_mapping(spec, "devices"), f"{path}.devices"
    requests = get_items(devices, "requests")
    known = list_request_names(requests)
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
        functools.partial(validate_references, known=known),
    )


def list_request_names(requests: Sequence[Object]) -> frozenset[str]:
    """Return the names by which requests and their alternatives can be referenced."""
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
    """Check the device class, selectors, count and tolerations of a request."""
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
    yield from validate_references(constraint, path, known=known)
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


def validate_references(value: Object, path: str, *, known: frozenset[str]) -> FieldErrors:
    """Check the names of requests that a constraint or configuration references."""
    yield from device_fields.validate_unique(
        get_items(value, "requests"),
        f"{path}.requests",
        most=_MOST_REQUESTS,
        check=functools.partial(validate_reference, known=known),
    )


def validate_reference(name: str, path: str, *, known: frozenset[str]) -> FieldErrors:
    """Check the name of one referenced request."""
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
