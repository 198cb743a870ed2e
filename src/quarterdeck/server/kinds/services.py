"""Services and what they resolve to: Endpoints and EndpointSlices."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.service_changes import (
    find_service_warnings,
    validate_service_change,
    validate_service_status,
)
from quarterdeck.server.kinds.service_validation import is_externally_accessible, validate_service
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


def default_service(value: Object) -> None:
    """Fill in the defaults of a service; addresses are allocated by admission."""
    spec = value.setdefault("spec", {})
    set_defaults(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    seconds = get_field(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if spec["sessionAffinity"] == "ClientIP" and seconds is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    for port in get_items(spec, "ports"):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port")
    if is_externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        set_defaults(spec, allocateLoadBalancerNodePorts=True)
    if spec["type"] != "ExternalName":
        set_defaults(spec, internalTrafficPolicy="Cluster")


def _keep_addresses(value: Object, old: Object, context: Context) -> None:
    """Restore families and node ports that a client omits, for types that have them."""
    if context.subresource:
        return
    spec, before = value["spec"], get_mapping(old, "spec")
    _drop_members_of_old_type(spec, before)
    if spec.get("type") == "ExternalName":
        for member in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(member, None)
        return
    for member in ("ipFamilies", "ipFamilyPolicy"):
        if not spec.get(member) and before.get(member):
            spec[member] = before[member]
    known = {(port.get("port"), port.get("protocol")): port for port in get_items(before, "ports")}
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        for port in get_items(spec, "ports"):
            kept = known.get((port.get("port"), port.get("protocol"))) or {}
            if not port.get("nodePort") and kept.get("nodePort"):
                port["nodePort"] = kept["nodePort"]


def _drop_members_of_old_type(spec: Object, before: Object) -> None:
    """Drop unchanged members that the new type of a service does not have."""
    was, now = before.get("type"), spec.get("type")
    balanced, exposed = ("LoadBalancer",), ("LoadBalancer", "NodePort")
    if was in exposed and now not in exposed:
        kept = [port.get("nodePort") for port in get_items(before, "ports")]
        if [port.get("nodePort") for port in get_items(spec, "ports")] == kept:
            for port in get_items(spec, "ports"):
                port.pop("nodePort", None)
    gone = []
    if was in balanced and now not in balanced:
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]
    if is_externally_accessible(before) and not is_externally_accessible(spec):
        gone += ["externalTrafficPolicy"]
    if now == "ExternalName":
        gone += ["internalTrafficPolicy"]
    for member in gone:
        if spec.get(member) == before.get(member):
            spec.pop(member, None)


def _format_external_address(value: Object) -> str:
    spec = get_mapping(value, "spec")
    given = [str(each) for each in get_items(spec, "externalIPs")]
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            return ",".join([*list_load_balancer_addresses(value), *given]) or "<pending>"
        case "ExternalName":
            return spec.get("externalName") or ""
        case _:
            return UNKNOWN


def list_load_balancer_addresses(value: Object) -> list[str]:
    """Return the addresses and host names of the load balancer of a service."""
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
    validate=validate_service,
    validate_change=validate_service_change,
    validate_status=validate_service_status,
    warn=find_service_warnings,
    prepare_update=_keep_addresses,
    name="label" if has_feature("RelaxedServiceNameValidation") else "label1035",
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
