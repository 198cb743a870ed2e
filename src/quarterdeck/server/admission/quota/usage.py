"""The usage of an object: the amounts that a quota can limit."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from quarterdeck.kit import rfc3339
from quarterdeck.kit.quantity import Quantity, QuantityError

Object = dict[str, Any]
Amounts = dict[str, Quantity]

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
_ONE, _ZERO = Quantity.of(1), Quantity.of(0)
_COUNTED_BY_NAME = frozenset({"configmaps", "secrets", "replicationcontrollers", "resourcequotas"})
_COMPUTE_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_POD_MEMBERS = frozenset(
    {
        PODS,
        *_COMPUTE_RESOURCES,
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE_RESOURCES),
    }
)
_SERVICE_MEMBERS = frozenset({SERVICES, "services.nodeports", "services.loadbalancers"})
_CLAIM_MEMBERS = (CLAIMS, "requests.storage")
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_HUGE_PAGES_PREFIX = "hugepages-"


def measure_usage(resource: str, value: Object, now: datetime | None = None) -> Amounts:
    """Measure the usage of an object of a resource (`pods`, `deployments.apps`).

    Without `now`, pods that are being deleted count until they are removed.
    """
    used: Amounts = {f"count/{resource}": _ONE}
    if resource in _COUNTED_BY_NAME:
        used[resource] = _ONE
    elif (measure := _MEASURE_FUNCTIONS.get(resource)) is not None:
        used.update(measure(value, now))
    return used


def select_members(resource: str, members: Iterable[str]) -> list[str]:
    """Select those members of a quota that objects of a resource count against."""
    return [member for member in members if is_limited_by(resource, member)]


def is_limited_by(resource: str, member: str) -> bool:
    """Whether objects of a resource count against a member of a quota."""
    if member == f"count/{resource}":
        return True
    match resource:
        case "pods":
            return (
                member in _POD_MEMBERS
                or member.startswith((_HUGE_PAGES_PREFIX, f"requests.{_HUGE_PAGES_PREFIX}"))
                or (member.startswith("requests.") and not _is_native(member))
            )
        case "services":
            return member in _SERVICE_MEMBERS
        case "persistentvolumeclaims":
            return member in _CLAIM_MEMBERS or member.endswith(
                tuple(f"{_CLASS_SUFFIX}{each}" for each in _CLAIM_MEMBERS)
            )
        case _:
            return member == resource and resource in _COUNTED_BY_NAME


def list_resources(members: Iterable[str]) -> Iterator[str]:
    """List the resources whose objects count against members, each once."""
    found: dict[str, None] = {}
    for member in members:
        if member.startswith("count/"):
            found[member.removeprefix("count/")] = None
            continue
        for resource in (PODS, SERVICES, CLAIMS, *_COUNTED_BY_NAME):
            if is_limited_by(resource, member):
                found[resource] = None
    yield from found


def is_charged(resource: str, verb: str) -> bool:
    """Whether a verb can change the usage of objects of a resource."""
    return verb == "create" or (verb == "update" and resource in (SERVICES, CLAIMS))


def parse_amounts(given: Mapping[str, Any] | None) -> Amounts:
    """Parse quantities by resource name; values that are not quantities are left out."""
    found: Amounts = {}
    for name, amount in (given or {}).items():
        try:
            found[name] = Quantity.parse(str(amount))
        except QuantityError:
            continue
    return found


def add(left: Amounts, right: Amounts) -> Amounts:
    """Add two sets of amounts, member by member."""
    return {
        name: left.get(name, _ZERO) + right.get(name, _ZERO)
        for name in (*left, *(each for each in right if each not in left))
    }


def compute(requests: Amounts, limits: Amounts) -> Amounts:
    """Name the requests and limits of a pod, or of a container, as quotas name them."""
    used: Amounts = {PODS: _ONE}
    for name in _COMPUTE_RESOURCES:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(_HUGE_PAGES_PREFIX):
            used[name] = used[f"requests.{name}"] = amount
        elif not _is_native(name):
            used[f"requests.{name}"] = amount
    return used


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


# --- pods


def _measure_pod(pod: Object, now: datetime | None) -> Amounts:
    if not _is_counted(pod, now):
        return {}
    spec = pod.get("spec") or {}
    overhead = parse_amounts(spec.get("overhead"))
    requests, limits = _sum_containers(spec, "requests"), _sum_containers(spec, "limits")
    capped = {name: amount for name, amount in overhead.items() if limits.get(name)}
    return compute(add(requests, overhead), add(limits, capped))


def _is_counted(pod: Object, now: datetime | None) -> bool:
    """Whether a pod uses quota: not if it ended, or if its grace period is over at `now`."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    metadata = pod.get("metadata") or {}
    since, grace_s = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if now is None or not since or grace_s is None:
        return True
    return now <= rfc3339.parse(since) + timedelta(seconds=grace_s)


def _sum_containers(spec: Object, kind: str) -> Amounts:
    """Return, for each resource, the sum of all containers or the peak during init if larger."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = add(total, _get_amounts(container, kind))
    beside: Amounts = {}
    start: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _get_amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            total, beside = add(total, own), add(beside, own)
            own = beside
        else:
            own = add(own, beside)
        start = _get_maximum(start, own)
    return _get_maximum(total, start)


def _get_amounts(container: Object, kind: str) -> Amounts:
    return parse_amounts((container.get("resources") or {}).get(kind))


def _get_maximum(left: Amounts, right: Amounts) -> Amounts:
    return {
        name: max(left.get(name, _ZERO), right.get(name, _ZERO))
        for name in (*left, *(each for each in right if each not in left))
    }


# --- services and claims


def _measure_service(service: Object, now: datetime | None) -> Amounts:
    spec = service.get("spec") or {}
    ports = spec.get("ports") or []
    used = {SERVICES: _ONE, "services.nodeports": _ZERO, "services.loadbalancers": _ZERO}
    if spec.get("type") == "NodePort":
        used["services.nodeports"] = Quantity.of(len(ports))
    elif spec.get("type") == "LoadBalancer":
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
        used["services.nodeports"] = Quantity.of(len(ports))
        used["services.loadbalancers"] = _ONE
    return used


def _claim(claim: Object, now: datetime | None) -> Amounts:
    spec, metadata = claim.get("spec") or {}, claim.get("metadata") or {}
    used = {CLAIMS: _ONE}
    asked = parse_amounts((spec.get("resources") or {}).get("requests")).get("storage")
    given = parse_amounts((claim.get("status") or {}).get("allocatedResources")).get("storage")
    if asked is not None:
        used["requests.storage"] = asked if given is None else max(asked, given)
    annotated = (metadata.get("annotations") or {}).get(_CLASS_ANNOTATION)
    if name := annotated or spec.get("storageClassName"):
        used.update({f"{name}{_CLASS_SUFFIX}{member}": used[member] for member in list(used)})
    return used


_MEASURE_FUNCTIONS: dict[str, Callable[[Object, datetime | None], Amounts]] = {
    PODS: _measure_pod,
    SERVICES: _measure_service,
    CLAIMS: _claim,
}
