"""Addresses and address families of a service, before any are allocated.

Kubernetes makes `clusterIP` and `clusterIPs` consistent, fills in families, and refuses what it
cannot allocate. It does so before it validates the rest, so no other errors come with these.
"""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.ip_address import parse_address
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.kinds.service_validation import validate_addresses
from quarterdeck.server.registry.resource import Object

_SINGLE, _DUAL = "SingleStack", "RequireDualStack"
_POLICY = "spec.ipFamilyPolicy"


def init_ip_families(spec: Object, before: Object, configured: Sequence[str]) -> list[FieldError]:
    """Fill in existing addresses, families and their policy; return the errors.

    Args:
        spec: of the service; it is changed.
        before: the spec it had, empty for a new service.
        configured: the families of the cluster, the default one first.
    """
    _keep_addresses(spec, before)
    is_headless = spec.get("clusterIP") == "None"
    is_open = is_headless and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or (_DUAL if is_open else _SINGLE)
    if errors := [*validate_addresses(spec)]:
        return errors
    errors = [*_check_policy(spec), *_complete_families(spec, configured)]
    if errors:
        return errors
    families = get_items(spec, "ipFamilies") or [configured[0]]
    if is_open:
        if len(families) < 2 and spec["ipFamilyPolicy"] != _SINGLE:
            families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        spec["ipFamilies"] = families
        return []
    spec["ipFamilies"] = families
    return [*_check_configured(spec, configured)]


def _keep_addresses(spec: Object, before: Object) -> None:
    """Restore addresses that a client omits; `clusterIPs` follows a changed `clusterIP`."""
    was = before.get("clusterIP") or ""
    if before.get("type") != "ExternalName":
        if was and not spec.get("clusterIP"):
            spec["clusterIP"] = was
        if before.get("clusterIPs") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [*before["clusterIPs"]]
    first, given = spec.get("clusterIP") or "", get_items(spec, "clusterIPs")
    is_new = not before and not given
    if first and (is_new or (before and first != was and given == before.get("clusterIPs"))):
        spec["clusterIPs"] = [first]


def _check_policy(spec: Object) -> Iterator[FieldError]:
    if spec["ipFamilyPolicy"] != _SINGLE:
        return
    for member, words in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if len(get_items(spec, member)) == 2:
            text = f"must be '{_DUAL}' or 'PreferDualStack' when multiple {words} are specified"
            yield invalid(_POLICY, _SINGLE, text)


def _complete_families(spec: Object, configured: Sequence[str]) -> Iterator[FieldError]:
    """Add the families of the cluster IPs in the spec."""
    families, given = [*get_items(spec, "ipFamilies")], get_items(spec, "clusterIPs")
    for index, text in enumerate(given):
        address = parse_address(text)
        if address is None or index < len(families):
            continue
        family = f"IPv{address.version}"
        if family in configured:
            families.append(family)
        else:
            shown = validators.format_go_strings(given)
            detail = f"{family} is not configured on this cluster"
            yield invalid(f"spec.clusterIPs[{index}]", shown, detail)
    if families:
        spec["ipFamilies"] = families


def _check_configured(spec: Object, configured: Sequence[str]) -> Iterator[FieldError]:
    if spec["ipFamilyPolicy"] == _DUAL and len(configured) < 2:
        yield invalid(_POLICY, _DUAL, "this cluster is not configured for dual-stack services")
    for index, family in enumerate(spec["ipFamilies"]):
        if family not in configured:
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
