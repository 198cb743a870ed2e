"""Services and what they resolve to: Endpoints and EndpointSlices."""

import ipaddress
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import fill, items, mapping
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.metadata_validation import check_labels
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    column,
    created,
    some_of,
    wide,
)
from quarterdeck.server.registry.resource import Context, Object

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def default_service(value: Object) -> None:
    """Fill in a service; addresses are given out by the allocator."""
    spec = value.setdefault("spec", {})
    fill(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        fill(spec, sessionAffinityConfig={"clientIP": {"timeoutSeconds": 10800}})
    for port in items(spec, "ports"):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port")
    external = spec["type"] in ("NodePort", "LoadBalancer")
    if external:
        fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
    if spec["type"] != "ExternalName":
        fill(spec, internalTrafficPolicy="Cluster")


def _problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    ports, kind = items(spec, "ports"), spec.get("type")
    headless = spec.get("clusterIP") == "None"
    if not ports and kind != "ExternalName" and not headless:
        yield required("spec.ports")
    yield from _type_problems(spec, kind, headless=headless)
    yield from _port_problems(ports, is_external_name=kind == "ExternalName")
    yield from check_labels(spec.get("selector") or {}, "spec.selector")
    yield from validators.choice(
        "spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None")
    )
    for index, address in enumerate(items(spec, "externalIPs")):
        if not _is_address(address):
            text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            yield invalid(f"spec.externalIPs[{index}]", address, text)
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)


def _type_problems(spec: Object, kind: Any, *, headless: bool) -> Iterator[FieldError]:
    if kind == "LoadBalancer" and headless:
        text = "may not be set to 'None' for LoadBalancer services"
        yield invalid("spec.clusterIPs[0]", "None", text)
    if kind == "NodePort" and headless:
        yield invalid(
            "spec.clusterIPs[0]", "None", "may not be set to 'None' for NodePort services"
        )
    if kind != "ExternalName":
        return
    name = spec.get("externalName") or ""
    if not name:
        yield required("spec.externalName")
    else:
        for problem in names.dns1123_subdomain(name.removesuffix(".")):
            yield invalid("spec.externalName", name, problem)


def _port_problems(ports: Sequence[Any], *, is_external_name: bool) -> Iterator[FieldError]:
    names_seen: set[str] = set()
    numbers_seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        place, name = f"spec.ports[{index}]", port.get("name") or ""
        if len(ports) > 1 and not name:
            yield required(f"{place}.name")
        elif name:
            for problem in names.dns1123_label(name):
                yield invalid(f"{place}.name", name, problem)
            if name in names_seen:
                yield duplicate(f"{place}.name", name)
            names_seen.add(name)
        yield from validators.port_number(f"{place}.port", port.get("port"))
        yield from validators.choice(f"{place}.protocol", port.get("protocol"), _PROTOCOLS)
        if not is_external_name:
            yield from validators.port_or_name(f"{place}.targetPort", port.get("targetPort"))
        identity = (port.get("port"), port.get("protocol"))
        if identity in numbers_seen:
            yield duplicate(place, port)
        numbers_seen.add(identity)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _changes(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = mapping(value, "spec"), mapping(old, "spec")
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    address, was = spec.get("clusterIP") or "", before.get("clusterIP") or ""
    if was and address != was:
        if not address:
            text = "primary clusterIP can not be unset"
            yield invalid(
                "spec.clusterIPs[0]", validators.go_strings(items(spec, "clusterIPs")), text
            )
        else:
            yield invalid(
                "spec.clusterIPs[0]", validators.go_strings([address]), "may not change once set"
            )


def _keep_addresses(value: Object, old: Object, context: Context) -> None:
    """What a client leaves out of a PUT stays: addresses and node ports are not its business."""
    if context.subresource:
        return
    spec, before = value["spec"], mapping(old, "spec")
    if spec.get("type") == "ExternalName":
        for member in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(member, None)
        return
    for member in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if not spec.get(member) and before.get(member):
            spec[member] = before[member]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    known = {(port.get("port"), port.get("protocol")): port for port in items(before, "ports")}
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        for port in items(spec, "ports"):
            kept = known.get((port.get("port"), port.get("protocol"))) or {}
            if not port.get("nodePort") and kept.get("nodePort"):
                port["nodePort"] = kept["nodePort"]


def _external_address(value: Object) -> str:
    spec = mapping(value, "spec")
    given = [str(each) for each in items(spec, "externalIPs")]
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            return ",".join([*load_balancer_addresses(value), *given]) or "<pending>"
        case "ExternalName":
            return spec.get("externalName") or ""
        case _:
            return UNKNOWN


def load_balancer_addresses(value: Object) -> list[str]:
    """Where a load balancer is reached."""
    found = {
        each.get("ip") or each.get("hostname") or ""
        for each in items(value, "status", "loadBalancer", "ingress")
    }
    return sorted(found - {""})


def _ports_text(ports: Sequence[Any]) -> str:
    return ",".join(
        f"{port.get('port')}:{port['nodePort']}/{port.get('protocol')}"
        if port.get("nodePort")
        else f"{port.get('port')}/{port.get('protocol')}"
        for port in ports
    )


def _cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    addresses = items(spec, "clusterIPs")
    selector = sorted((spec.get("selector") or {}).items())
    return (
        value["metadata"].get("name", ""),
        spec.get("type") or "",
        addresses[0] if addresses else NONE,
        _external_address(value),
        _ports_text(items(spec, "ports")) or NONE,
        created(value, now),
        ",".join(f"{key}={text}" for key, text in selector) or NONE,
    )


SERVICE = Rules(
    default=default_service,
    validate=_problems,
    validate_change=_changes,
    prepare_update=_keep_addresses,
    name="label1035",
    create_on_update=True,
    status_may_label=True,
    selectable={"spec.clusterIP": "", "spec.type": ""},
    columns=(
        NAME,
        column("Type"),
        column("Cluster-IP"),
        column("External-IP"),
        column("Port(s)"),
        AGE,
        wide("Selector"),
    ),
    cells=_cells,
)


# endpoints ---------------------------------------------------------------------------------------


def _default_endpoints(value: Object) -> None:
    for subset in items(value, "subsets"):
        for port in items(subset, "ports"):
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def _endpoints_cells(value: Object, now: datetime) -> Sequence[object]:
    shown: list[str] = []
    for subset in items(value, "subsets"):
        addresses = [each.get("ip") or "" for each in items(subset, "addresses")]
        ports = items(subset, "ports")
        if not ports:
            shown += addresses
        shown += [f"{address}:{port.get('port')}" for port in ports for address in addresses]
    return (
        value["metadata"].get("name", ""),
        some_of(shown, 3, empty=NONE),
        created(value, now),
    )


def _endpoints_problems(value: Object, context: Context) -> Iterator[FieldError]:
    for index, subset in enumerate(items(value, "subsets")):
        place = f"subsets[{index}]"
        for member in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(items(subset, member)):
                ip = address.get("ip") or ""
                if not _is_address(ip):
                    text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
                    yield invalid(f"{place}.{member}[{at}].ip", ip, text)
        for at, port in enumerate(items(subset, "ports")):
            yield from validators.port_number(f"{place}.ports[{at}].port", port.get("port") or 0)


ENDPOINTS = Rules(
    default=_default_endpoints,
    validate=_endpoints_problems,
    create_on_update=True,
    columns=(NAME, column("Endpoints"), AGE),
    cells=_endpoints_cells,
)


def _default_slice(value: Object) -> None:
    for port in items(value, "ports"):
        fill(port, name="", protocol="TCP")


def _slice_problems(value: Object, context: Context) -> Iterator[FieldError]:
    kinds = ("FQDN", "IPv4", "IPv6")
    if not value.get("addressType"):
        yield required("addressType")
    elif value["addressType"] not in kinds:
        yield not_supported("addressType", value["addressType"], kinds)
    for index, endpoint in enumerate(items(value, "endpoints")):
        if not endpoint.get("addresses"):
            text = "must contain at least 1 address"
            yield required(f"endpoints[{index}].addresses", text)


def _slice_cells(value: Object, now: datetime) -> Sequence[object]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in items(value, "ports")]
    addresses = [str(a) for each in items(value, "endpoints") for a in each.get("addresses") or ()]
    return (
        value["metadata"].get("name", ""),
        value.get("addressType") or "",
        some_of(ports, 3),
        some_of(addresses, 3),
        created(value, now),
    )


ENDPOINT_SLICE = Rules(
    default=_default_slice,
    validate=_slice_problems,
    validate_change=lambda value, old, context: validators.immutable(
        "addressType", value.get("addressType"), old.get("addressType")
    ),
    counted=("endpoints", "ports", "addressType"),
    columns=(NAME, column("AddressType"), column("Ports"), column("Endpoints"), AGE),
    cells=_slice_cells,
)
