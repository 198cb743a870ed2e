"""Endpoints and endpoint slices: defaults and validation."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, invalid, not_supported, required, too_many
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import validate_domain_name, validate_endpoint_address
from quarterdeck.server.kinds.fields import get_items, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.metadata_validation import validate_labels
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    build_column,
    format_creation_age,
    format_first,
)
from quarterdeck.server.registry.resource import Context, Object

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MAX_ADDRESSES = 100
_MAX_ZONE_HINTS = 8
_MAX_ENDPOINTS = 1000
_MAX_SLICE_PORTS = 20_000


def _default_endpoints(value: Object) -> None:
    for subset in get_items(value, "subsets"):
        for port in get_items(subset, "ports"):
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def _build_endpoints_cells(value: Object, now: datetime) -> Sequence[object]:
    shown: list[str] = []
    for subset in get_items(value, "subsets"):
        addresses = [each.get("ip") or "" for each in get_items(subset, "addresses")]
        ports = get_items(subset, "ports")
        if not ports:
            shown += addresses
        shown += [f"{address}:{port.get('port')}" for port in ports for address in addresses]
    return (
        value["metadata"].get("name", ""),
        format_first(shown, 3, empty=NONE),
        format_creation_age(value, now),
    )


def _validate_endpoints(value: Object, context: Context) -> Iterator[FieldError]:
    for index, subset in enumerate(get_items(value, "subsets")):
        place = f"subsets[{index}]"
        if not get_items(subset, "addresses") and not get_items(subset, "notReadyAddresses"):
            yield required(place, "must specify `addresses` or `notReadyAddresses`")
        for member in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(get_items(subset, member)):
                yield from _validate_address(f"{place}.{member}[{at}]", address)
        ports = get_items(subset, "ports")
        for at, port in enumerate(ports):
            yield from _validate_port(f"{place}.ports[{at}]", port, needs_name=len(ports) > 1)


def _validate_address(path: str, address: Object) -> Iterator[FieldError]:
    yield from validate_endpoint_address(f"{path}.ip", address.get("ip") or "")
    if hostname := address.get("hostname"):
        yield from _validate_label(f"{path}.hostname", hostname)
    yield from _validate_node_name(path, address)


def _validate_node_name(path: str, value: Object) -> Iterator[FieldError]:
    name = value.get("nodeName")
    if name is not None:
        for problem in names.check_dns1123_subdomain(name):
            yield invalid(f"{path}.nodeName", name, problem)


def _validate_label(path: str, text: str) -> Iterator[FieldError]:
    for problem in names.check_dns1123_label(text):
        yield invalid(path, text, problem)


def _validate_port(path: str, port: Object, *, needs_name: bool) -> Iterator[FieldError]:
    if name := port.get("name"):
        yield from _validate_label(f"{path}.name", name)
    elif needs_name:
        yield required(f"{path}.name")
    yield from validators.validate_port(f"{path}.port", port.get("port") or 0)
    yield from _validate_protocols(path, port)


def _validate_protocols(path: str, port: Object) -> Iterator[FieldError]:
    protocol = port.get("protocol")
    if protocol not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol or "", _PROTOCOLS)
    application = port.get("appProtocol")
    if application is not None:
        for problem in names.check_qualified_name(application):
            yield invalid(f"{path}.appProtocol", application, problem)


ENDPOINTS = Rules(
    default=_default_endpoints,
    validate=_validate_endpoints,
    allows_create_on_update=True,
    columns=(NAME, build_column("Endpoints"), AGE),
    cells=_build_endpoints_cells,
)


def _default_slice(value: Object) -> None:
    for port in get_items(value, "ports"):
        set_defaults(port, name="", protocol="TCP")


def _validate_slice(value: Object, context: Context) -> Iterator[FieldError]:
    kind = value.get("addressType")
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    endpoints = get_items(value, "endpoints")
    if len(endpoints) > _MAX_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)
    else:
        for index, endpoint in enumerate(endpoints):
            yield from _validate_endpoint(f"endpoints[{index}]", endpoint, kind)
    ports = get_items(value, "ports")
    if len(ports) > _MAX_SLICE_PORTS:
        yield too_many("ports", len(ports), _MAX_SLICE_PORTS)
        return
    yield from _validate_slice_ports(ports)


def _validate_endpoint(path: str, endpoint: Object, kind: Any) -> Iterator[FieldError]:
    addresses = get_items(endpoint, "addresses")
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), _MAX_ADDRESSES)
    for index, address in enumerate(addresses):
        place = f"{path}.addresses[{index}]"
        if kind in ("IPv4", "IPv6"):
            yield from validate_endpoint_address(place, address, family=kind)
        elif kind == "FQDN":
            yield from validate_domain_name(place, address)
    yield from _validate_node_name(path, endpoint)
    yield from validate_labels(
        endpoint.get("deprecatedTopology") or {}, f"{path}.deprecatedTopology"
    )
    hostname = endpoint.get("hostname")
    if hostname is not None:
        yield from _validate_label(f"{path}.hostname", hostname)
    yield from _validate_hints(f"{path}.hints.forZones", endpoint)
    nodes = get_items(endpoint, "hints", "forNodes")
    if len(nodes) > _MAX_ZONE_HINTS:
        yield too_many(f"{path}.hints.forNodes", len(nodes), _MAX_ZONE_HINTS)


def _validate_hints(path: str, endpoint: Object) -> Iterator[FieldError]:
    zones = get_items(endpoint, "hints", "forZones")
    if len(zones) > _MAX_ZONE_HINTS:
        yield too_many(path, len(zones), _MAX_ZONE_HINTS)
        return
    seen: set[str] = set()
    for index, zone in enumerate(zones):
        name = zone.get("name") or ""
        if name in seen:
            yield duplicate(f"{path}[{index}].name", name)
        seen.add(name)
        for problem in names.check_label_value(name):
            yield invalid(f"{path}[{index}].name", name, problem)


def _validate_slice_ports(ports: Sequence[Object]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name") or ""
        if name:
            yield from _validate_label(f"ports[{index}].name", name)
        if name in seen:
            yield duplicate(f"ports[{index}].name", name)
        seen.add(name)
        yield from _validate_protocols(f"ports[{index}]", port)


def _validate_slice_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    kind, before = value.get("addressType"), old.get("addressType")
    yield from validators.validate_immutable("addressType", kind, before)


def _build_slice_cells(value: Object, now: datetime) -> Sequence[object]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in get_items(value, "ports")]
    addresses = [
        str(a) for each in get_items(value, "endpoints") for a in each.get("addresses") or ()
    ]
    return (
        value["metadata"].get("name", ""),
        value.get("addressType") or "",
        format_first(ports, 3),
        format_first(addresses, 3),
        format_creation_age(value, now),
    )


def _find_slice_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    if old is None and value.get("addressType") == "FQDN":
        return ["spec.addressType: FQDN endpoints are deprecated"]
    return ()


ENDPOINT_SLICE = Rules(
    warn=_find_slice_warnings,
    required_lists=(("endpoints",), ("ports",)),
    default=_default_slice,
    validate=_validate_slice,
    validate_change=_validate_slice_update,
    generation_fields=("endpoints", "ports", "addressType"),
    labels_bump_generation=True,
    columns=(
        NAME,
        build_column("AddressType"),
        build_column("Ports"),
        build_column("Endpoints"),
        AGE,
    ),
    cells=_build_slice_cells,
)
