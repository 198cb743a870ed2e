"""Validation of services: ports, addresses, and members that only one type may have."""

from collections.abc import Iterator, Sequence
from typing import Any

from quarterdeck.kit.ip_address import parse_address
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import VALID_ADDRESS, find_family, validate_endpoint_address
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.registry.metadata_validation import validate_labels
from quarterdeck.server.registry.resource import Context, Object

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TRAFFIC_POLICIES = ("Cluster", "Local")
_PLAIN_MEMBERS = frozenset(
    {
        *("type", "selector", "ports", "sessionAffinity", "clusterIP", "clusterIPs"),
        *("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy", "publishNotReadyAddresses"),
    }
)
"""Members of a service that is only reached from inside of the cluster."""
_LONGEST_AFFINITY_S = 86400
_BALANCED_ONLY = "may only be used when `type` is 'LoadBalancer'"


def is_externally_accessible(spec: Object) -> bool:
    """Whether a service can be reached from outside of the cluster."""
    if spec.get("type") == "ClusterIP":
        return bool(spec.get("externalIPs"))
    return spec.get("type") in ("LoadBalancer", "NodePort")


def validate_service(value: Object, context: Context) -> Iterator[FieldError]:
    """Check a service."""
    spec = get_mapping(value, "spec")
    ports, kind = get_items(spec, "ports"), spec.get("type")
    headless = next(iter(get_items(spec, "clusterIPs")), "") == "None"
    if not ports and kind != "ExternalName" and not headless:
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and headless:
        text = f"may not be set to 'None' for {kind} services"
        yield invalid("spec.clusterIPs[0]", "None", text)
    if kind == "ExternalName":
        yield from _validate_external_name(spec)
    else:
        yield from validate_addresses(spec)
    yield from _validate_ports(ports)
    yield from validate_labels(spec.get("selector") or {}, "spec.selector")
    if kind == "ClusterIP" and spec.keys() <= _PLAIN_MEMBERS:
        yield from _validate_plain(spec)
        return
    yield from _validate_node_ports(spec)
    yield from _validate_affinity(spec)
    for index, address in enumerate(get_items(spec, "externalIPs")):
        place = f"spec.externalIPs[{index}]"
        if parse_address(address) is None:
            yield invalid(place, address, VALID_ADDRESS)
        else:
            yield from validate_endpoint_address(place, address)
    yield from validators.validate_required_enum("spec.type", kind, _TYPES)
    yield from _validate_balancer(spec)
    yield from _validate_traffic(spec)


def _validate_plain(spec: Object) -> Iterator[FieldError]:
    """Check a service inside of the cluster that has none of the less common members."""
    if any(port.get("nodePort") for port in get_items(spec, "ports")):
        yield from _validate_node_ports(spec)
    if spec.get("sessionAffinity") != "None":
        yield from _validate_affinity(spec)
    policy = spec.get("internalTrafficPolicy")
    yield from validators.validate_enum("spec.internalTrafficPolicy", policy, _TRAFFIC_POLICIES)


def _validate_external_name(spec: Object) -> Iterator[FieldError]:
    for member in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(member):
            yield forbidden(f"spec.{member}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    for problem in names.check_dns1123_subdomain(name) if name else ():
        yield invalid("spec.externalName", name, problem)


# addresses ---------------------------------------------------------------------------------------


def validate_addresses(spec: Object) -> Iterator[FieldError]:
    """Check the addresses of a service and their families."""
    first, given = spec.get("clusterIP") or "", get_items(spec, "clusterIPs")
    families = get_items(spec, "ipFamilies")
    if first and given == [first] and families[:1] == [find_family(first)]:
        yield from _validate_families(spec)  # one address of a family that is named
        return
    is_headless = bool(given) and given[0] == "None"
    shown, path = validators.format_go_strings(given), "spec.clusterIPs"
    if first and not given:
        yield required(path)
    elif first and given[0] != first:
        yield invalid(path, shown, "first value must match `clusterIP`")
    elif not first and given:
        yield invalid(path, shown, "must be empty when `clusterIP` is not specified")
    yield from _validate_families(spec)
    if is_headless and len(given) > 1:
        yield invalid(path, shown, "'None' must be the first and only value")
    parsed = [parse_address(each) for each in given]
    for index, address in enumerate(parsed):
        if address is None and (index or not is_headless):
            yield invalid(f"{path}[{index}]", given[index], VALID_ADDRESS)
    if len(given) > 2:
        yield invalid(path, shown, "may only hold up to 2 values")
    if None in parsed:
        return
    if len(given) > 1 and len({each.version for each in parsed if each}) < 2:
        yield invalid(path, shown, "may specify no more than one IP for each IP family")
    for index, (address, family) in enumerate(zip(parsed, families, strict=False)):
        if address and family in _FAMILIES and family != f"IPv{address.version}":
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"{path}[{index}]", given[index], text)


def _validate_families(spec: Object) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, family in enumerate(get_items(spec, "ipFamilies")):
        place = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            yield not_supported(place, family, _FAMILIES)
        if family in seen:
            yield duplicate(place, family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    yield from validators.validate_enum("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES)


# ports -------------------------------------------------------------------------------------------


def _validate_ports(ports: Sequence[Any]) -> Iterator[FieldError]:
    seen: set[str] = set()
    numbers: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        place, name = f"spec.ports[{index}]", port.get("name") or ""
        if len(ports) > 1 and not name:
            yield required(f"{place}.name")
        elif name:
            for problem in names.check_dns1123_label(name):
                yield invalid(f"{place}.name", name, problem)
            if name in seen:
                yield duplicate(f"{place}.name", name)
            seen.add(name)
        yield from validators.validate_port(f"{place}.port", port.get("port"))
        protocol = port.get("protocol")
        yield from validators.validate_required_enum(f"{place}.protocol", protocol, _PROTOCOLS)
        target = port.get("targetPort")
        yield from validators.validate_port_or_name(
            f"{place}.targetPort", 0 if target is None else target
        )
        if (application := port.get("appProtocol")) is not None:
            for problem in names.check_qualified_name(application):
                yield invalid(f"{place}.appProtocol", application, problem)
        identity = (port.get("port"), protocol)
        if identity in numbers:
            yield duplicate(place, _format_go_port(port))
        numbers.add(identity)


def _format_go_port(port: Object) -> Bare:
    """Format what makes a port unique as Go prints it."""
    return Bare(
        f'core.ServicePort{{Name:"", Protocol:{quote(port.get("protocol") or "")},'
        f" AppProtocol:(*string)(nil), Port:{port.get('port') or 0},"
        ' TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}'
    )


def _validate_node_ports(spec: Object) -> Iterator[FieldError]:
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(get_items(spec, "ports")):
        place, number = f"spec.ports[{index}].nodePort", port.get("nodePort")
        if not number:
            continue
        if spec.get("type") == "ClusterIP":
            yield forbidden(place, "may not be used when `type` is 'ClusterIP'")
        if (port.get("protocol"), number) in seen:
            yield duplicate(place, number)
        seen.add((port.get("protocol"), number))


# members of one type -----------------------------------------------------------------------------


def _validate_affinity(spec: Object) -> Iterator[FieldError]:
    kind, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    path = "spec.sessionAffinityConfig"
    choices = ("ClientIP", "None")
    yield from validators.validate_required_enum("spec.sessionAffinity", kind, choices)
    if kind == "None" and config is not None:
        yield forbidden(path, "must not be set when session affinity is None")
    if kind != "ClientIP":
        return
    text = "when session affinity type is ClientIP"
    seconds = get_field(config or {}, "clientIP", "timeoutSeconds")
    if config is None:
        yield required(path, text)
    elif config.get("clientIP") is None:
        yield required(f"{path}.clientIP", text)
    elif seconds is None:
        yield required(f"{path}.clientIP.timeoutSeconds", text)
    elif not 0 < seconds <= _LONGEST_AFFINITY_S:
        text = f"must be greater than 0 and less than {_LONGEST_AFFINITY_S}"
        yield invalid(f"{path}.clientIP.timeoutSeconds", seconds, text)


def _validate_balancer(spec: Object) -> Iterator[FieldError]:
    is_balanced = spec.get("type") == "LoadBalancer"
    ranges = get_items(spec, "loadBalancerSourceRanges")
    if ranges and not is_balanced:
        yield forbidden("spec.LoadBalancerSourceRanges", _BALANCED_ONLY)
    for index, each in enumerate(ranges):
        network = each.strip()
        if not validators.is_network(network):
            text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"spec.LoadBalancerSourceRanges[{index}]", network, text)
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balanced:
        yield forbidden("spec.allocateLoadBalancerNodePorts", _BALANCED_ONLY)
    yield from validate_load_balancer_class(spec)


def validate_load_balancer_class(spec: Object) -> Iterator[FieldError]:
    """Check the class of a load balancer."""
    name, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if name is None:
        return
    if spec.get("type") != "LoadBalancer":
        yield forbidden(path, _BALANCED_ONLY)
    else:
        yield from (invalid(path, name, each) for each in names.check_qualified_name(name))


def _validate_traffic(spec: Object) -> Iterator[FieldError]:
    policy, path = spec.get("externalTrafficPolicy") or "", "spec.externalTrafficPolicy"
    if not is_externally_accessible(spec):
        if policy:
            text = "may only be set for externally-accessible services"
            yield invalid(path, policy, text)
    else:
        yield from validators.validate_required_enum(path, policy, _TRAFFIC_POLICIES)
    number = spec.get("healthCheckNodePort")
    if number and (spec.get("type") != "LoadBalancer" or policy != "Local"):
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        yield invalid("spec.healthCheckNodePort", number, text)
    inside, distribution = spec.get("internalTrafficPolicy"), spec.get("trafficDistribution")
    yield from validators.validate_enum("spec.internalTrafficPolicy", inside, _TRAFFIC_POLICIES)
    known: tuple[str, ...] = ("PreferClose",)
    if has_feature("PreferSameTrafficDistribution"):
        known += ("PreferSameZone", "PreferSameNode")
    yield from validators.validate_enum("spec.trafficDistribution", distribution, known)
