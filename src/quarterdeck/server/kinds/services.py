"""Services and what they resolve to: Endpoints and EndpointSlices."""

import ipaddress
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.metadata_validation import validate_labels
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def default_service(value: Object) -> None:
    """Fill in a service; addresses are given out by the allocator."""
    spec = value.setdefault("spec", {})
    set_defaults(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        set_defaults(spec, sessionAffinityConfig={"clientIP": {"timeoutSeconds": 10800}})
    for port in get_items(spec, "ports"):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port")
    external = spec["type"] in ("NodePort", "LoadBalancer")
    if external:
        set_defaults(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        set_defaults(spec, allocateLoadBalancerNodePorts=True)
    if spec["type"] != "ExternalName":
        set_defaults(spec, internalTrafficPolicy="Cluster")


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    ports, kind = get_items(spec, "ports"), spec.get("type")
    headless = spec.get("clusterIP") == "None"
    if not ports and kind != "ExternalName" and not headless:
        yield required("spec.ports")
    yield from _validate_type(spec, kind, headless=headless)
    yield from _validate_port(ports, is_external_name=kind == "ExternalName")
    yield from validate_labels(spec.get("selector") or {}, "spec.selector")
    yield from validators.validate_required_enum(
        "spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None")
    )
    for index, address in enumerate(get_items(spec, "externalIPs")):
        if not _is_address(address):
            text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            yield invalid(f"spec.externalIPs[{index}]", address, text)
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)


def _validate_type(spec: Object, kind: Any, *, headless: bool) -> Iterator[FieldError]:
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
        for problem in names.check_dns1123_subdomain(name.removesuffix(".")):
            yield invalid("spec.externalName", name, problem)


def _validate_port(ports: Sequence[Any], *, is_external_name: bool) -> Iterator[FieldError]:
    names_seen: set[str] = set()
    numbers_seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        place, name = f"spec.ports[{index}]", port.get("name") or ""
        if len(ports) > 1 and not name:
            yield required(f"{place}.name")
        elif name:
            for problem in names.check_dns1123_label(name):
                yield invalid(f"{place}.name", name, problem)
            if name in names_seen:
                yield duplicate(f"{place}.name", name)
            names_seen.add(name)
        yield from validators.validate_port(f"{place}.port", port.get("port"))
        yield from validators.validate_required_enum(
            f"{place}.protocol", port.get("protocol"), _PROTOCOLS
        )
        if not is_external_name:
            yield from validators.validate_port_or_name(
                f"{place}.targetPort", port.get("targetPort")
            )
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


def _validate_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    address, was = spec.get("clusterIP") or "", before.get("clusterIP") or ""
    if was and address != was:
        if not address:
            text = "primary clusterIP can not be unset"
            yield invalid(
                "spec.clusterIPs[0]",
                validators.format_go_strings(get_items(spec, "clusterIPs")),
                text,
            )
        else:
            yield invalid(
                "spec.clusterIPs[0]",
                validators.format_go_strings([address]),
                "may not change once set",
            )


def _keep_addresses(value: Object, old: Object, context: Context) -> None:
    """What a client leaves out of a PUT stays: addresses and node ports are not its business."""
    if context.subresource:
        return
    spec, before = value["spec"], get_mapping(old, "spec")
    if spec.get("type") == "ExternalName":
        for member in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(member, None)
        return
    for member in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if not spec.get(member) and before.get(member):
            spec[member] = before[member]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    known = {(port.get("port"), port.get("protocol")): port for port in get_items(before, "ports")}
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        for port in get_items(spec, "ports"):
            kept = known.get((port.get("port"), port.get("protocol"))) or {}
            if not port.get("nodePort") and kept.get("nodePort"):
                port["nodePort"] = kept["nodePort"]


def _format_external_address(value: Object) -> str:
    spec = get_mapping(value, "spec")
    given = [str(each) for each in get_items(spec, "externalIPs")]
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
    """Load where a load balancer is reached."""
    found = {
        each.get("ip") or each.get("hostname") or ""
        for each in get_items(value, "status", "loadBalancer", "ingress")
    }
    return sorted(found - {""})


def _format_ports(ports: Sequence[Any]) -> str:
    return ",".join(
        f"{port.get('port')}:{port['nodePort']}/{port.get('protocol')}"
        if port.get("nodePort")
        else f"{port.get('port')}/{port.get('protocol')}"
        for port in ports
    )


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    addresses = get_items(spec, "clusterIPs")
    selector = sorted((spec.get("selector") or {}).items())
    return (
        value["metadata"].get("name", ""),
        spec.get("type") or "",
        addresses[0] if addresses else NONE,
        _format_external_address(value),
        _format_ports(get_items(spec, "ports")) or NONE,
        format_creation_age(value, now),
        ",".join(f"{key}={text}" for key, text in selector) or NONE,
    )


SERVICE = Rules(
    default=default_service,
    validate=_validate,
    validate_change=_validate_update,
    prepare_update=_keep_addresses,
    name="label1035",
    allows_create_on_update=True,
    status_updates_labels=True,
    selectable={"spec.clusterIP": "", "spec.type": ""},
    columns=(
        NAME,
        build_column("Type"),
        build_column("Cluster-IP"),
        build_column("External-IP"),
        build_column("Port(s)"),
        AGE,
        build_wide_column("Selector"),
    ),
    cells=_build_cells,
)
