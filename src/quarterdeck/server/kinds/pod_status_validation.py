"""Validation of writes to the status of pods."""

from collections.abc import Iterator

from quarterdeck.kit.ip_address import parse_address
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, duplicate, forbidden, internal, invalid, quote
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import VALID_ADDRESS
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.pod_security_validation import validate_id
from quarterdeck.server.registry.resource import Context, Object

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def validate_pod_status(pod: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check a changed status."""
    status, before = get_mapping(pod, "status"), get_mapping(old, "status")
    for index, condition in enumerate(get_items(status, "conditions")):
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            for problem in names.check_qualified_name(kind):
                yield invalid(f"metadata.conditions[{index}].Type", kind, problem)
    node = status.get("nominatedNodeName") or ""
    if node and node != before.get("nominatedNodeName"):
        for problem in names.check_dns1123_subdomain(node):
            yield invalid("status.nominatedNodeName", node, problem)
    quality = status.get("qosClass") or ""
    if quality != (before.get("qosClass") or ""):
        yield invalid("status.qosClass", quality, validators.IMMUTABLE)
    yield from _validate_transitions(status, old)
    yield from _validate_claims(pod)
    yield from _validate_addresses(status, "podIPs", "core.PodIP")
    hosts = get_items(status, "hostIPs")
    if hosts and (status.get("hostIP") or "") != (hosts[0].get("ip") or ""):
        text = "must be equal to `hostIP`"
        yield invalid("status.hostIPs[0].ip", hosts[0].get("ip") or "", text)
    yield from _validate_addresses(status, "hostIPs", "core.HostIP")
    if get_field(pod, "spec", "os", "name") != "windows":
        yield from _validate_users(status)


def _validate_transitions(status: Object, old: Object) -> Iterator[FieldError]:
    """Check that terminated containers run again only if the restart policy allows it."""
    spec, before = get_mapping(old, "spec"), get_mapping(old, "status")
    policy = spec.get("restartPolicy") or ""
    sidecars = {
        each.get("name")
        for each in get_items(spec, "initContainers")
        if each.get("restartPolicy") == "Always"
    }
    for member in _STATUSES:
        rule = "Never" if member == "ephemeralContainerStatuses" else policy
        running = {
            each.get("name")
            for each in get_items(status, member)
            if get_field(each, "state", "terminated") is None
        }
        for index, each in enumerate(get_items(before, member)):
            is_sidecar = member == "initContainerStatuses" and each.get("name") in sidecars
            if each.get("name") in running and not is_sidecar and not _may_restart(each, rule):
                text = "may not be transitioned to non-terminated state"
                yield forbidden(f"status.{member}[{index}].state", text)


def _may_restart(container: Object, policy: str) -> bool:
    ended = get_field(container, "state", "terminated")
    if ended is None or policy == "Always":
        return True
    return policy == "OnFailure" and bool(ended.get("exitCode"))


def _validate_users(status: Object) -> Iterator[FieldError]:
    for member in _STATUSES:
        for index, each in enumerate(get_items(status, member)):
            user, place = get_mapping(each, "user", "linux"), f"status.{member}[{index}].linux"
            numbers = [(name, user[name]) for name in ("uid", "gid") if name in user]
            groups = enumerate(get_items(user, "supplementalGroups"))
            for name, number in (
                *numbers,
                *((f"supplementalGroups[{at}]", id) for at, id in groups),
            ):
                yield from validate_id(number, f"{place}.{name}")


def _validate_claims(pod: Object) -> Iterator[FieldError]:
    known = {each.get("name") for each in get_items(pod, "spec", "resourceClaims")}
    for index, each in enumerate(get_items(pod, "status", "resourceClaimStatuses")):
        if each.get("name") not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid(f"status.resourceClaimStatuses[{index}].name", each.get("name"), text)


def _validate_addresses(status: Object, member: str, kind: str) -> Iterator[FieldError]:
    """Check that addresses are valid, one of each family, and none twice."""
    path, texts = f"status.{member}", [each.get("ip") or "" for each in get_items(status, member)]
    parsed = [parse_address(text) for text in texts]
    for index, address in enumerate(parsed):
        if address is None:
            yield invalid(f"{path}[{index}]", texts[index], VALID_ADDRESS)
    if len(texts) < 2:
        return
    if None in parsed:
        first = parsed.index(None)
        text = f"failed to check for dual stack with error:invalid IP[{first}]: {texts[first]}"
        yield internal(path, text)
    families = {address.version for address in parsed if address is not None}
    if None in parsed or len(families) < 2 or len(texts) > 2:
        shown = ", ".join(f"{kind}{{IP:{quote(text)}}}" for text in texts)
        text = "may specify no more than one IP for each IP family"
        yield invalid(path, Bare(f"[]{kind}{{{shown}}}"), text)
    seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen:
            yield duplicate(f"{path}[{index}]", Bare(f"{kind}{{IP:{quote(text)}}}"))
        seen.add(text)
