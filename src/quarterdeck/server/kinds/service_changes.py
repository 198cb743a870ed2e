"""Validation of changes of services and their status, and warnings."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.ip_address import parse_address
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, forbidden, invalid, not_supported, quote
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import VALID_ADDRESS
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.service_validation import validate_load_balancer_class
from quarterdeck.server.registry.resource import Context, Object


def validate_service_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check that addresses, families and the class of the load balancer do not change."""
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    if spec.get("type") == before.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", name, "may not change once set")
    yield from validate_load_balancer_class(spec)
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    yield from _validate_kept_addresses(spec, before)
    if "None" not in (spec.get("clusterIP"), before.get("clusterIP")):
        yield from _validate_kept_families(spec, before)


def _validate_kept_addresses(spec: Object, before: Object) -> Iterator[FieldError]:
    given, was = get_items(spec, "clusterIPs"), get_items(before, "clusterIPs")
    shown = validators.format_go_strings(given)
    if was and not given:
        yield invalid("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset")
    checked = was if len(was) == len(given) else was[:1]
    for index, (now, then) in enumerate(zip(given, checked, strict=False)):
        if now != then:
            yield invalid(f"spec.clusterIPs[{index}]", shown, "may not change once set")


def _validate_kept_families(spec: Object, before: Object) -> Iterator[FieldError]:
    given, was = get_items(spec, "ipFamilies"), get_items(before, "ipFamilies")
    kind = "[]core.IPFamily"
    shown = Bare(f"{kind}{{{', '.join(map(quote, given))}}}" if given else f"{kind}(nil)")
    if len(given) != len(was):
        shown = validators.format_go_strings(get_items(spec, "clusterIPs"))
        was = was[:1]
    for now, then in zip(given, was, strict=False):
        if now != then:
            yield invalid("spec.ipFamilies[0]", shown, "may not change once set")


def validate_service_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check the addresses and host names of a load balancer."""
    path = "status.loadBalancer.ingress"
    points = get_items(value, "status", "loadBalancer", "ingress")
    if points and get_field(value, "spec", "type") != "LoadBalancer":
        yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, point in enumerate(points):
        place, address, mode = f"{path}[{index}]", point.get("ip"), point.get("ipMode")
        if address and parse_address(address) is None:
            yield invalid(f"{place}.ip", address, VALID_ADDRESS)
        if mode is not None and not address:
            yield forbidden(f"{place}.ipMode", "may not be specified when `ip` is not set")
        elif mode is not None and mode not in ("Proxy", "VIP"):
            yield not_supported(f"{place}.ipMode", mode, ("Proxy", "VIP"))
        yield from validate_load_balancer_name(point.get("hostname"), f"{place}.hostname")


def validate_load_balancer_name(name: str | None, path: str) -> Iterator[FieldError]:
    """Check the host name of a load balancer."""
    if not name:
        return
    yield from (invalid(path, name, each) for each in names.check_dns1123_subdomain(name))
    if parse_address(name) is not None:
        yield invalid(path, name, "must be a DNS name, not an IP address")


def find_service_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Warn of members that have no effect."""
    spec = get_mapping(value, "spec")
    if context.subresource:
        return ()
    if spec.get("type") == "ExternalName" and spec.get("externalIPs"):
        return ['spec.externalIPs is ignored when spec.type is "ExternalName"']
    if spec.get("type") != "ExternalName" and spec.get("externalName"):
        return ['spec.externalName is ignored when spec.type is not "ExternalName"']
    return ()
