"""LimitRanger: containers get the defaults of their namespace and keep within its limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.quantity import Quantity
from quarterdeck.server.admission.attributes import (
    AdmissionAttributes,
    build_forbidden,
    is_creation,
    is_resize,
)
from quarterdeck.server.admission.plugins.lookup import list_objects
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store

_ANNOTATION = "kubernetes.io/limit-ranger"
_RANGES = "limitranges"

Amounts = dict[str, Quantity]


class LimitRanger:
    """Applies the LimitRanges of a namespace to new pods and claims."""

    resources = frozenset({"pods", "persistentvolumeclaims"})

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Fill in the requests and limits that a pod leaves out."""
        if not is_creation(attributes, "pods"):
            return
        for limits in self._list_limits(attributes.namespace):
            _fill_in(attributes.value or {}, limits)

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse what is outside of the limits.

        Raises:
            Forbidden: naming every limit.
        """
        is_pod = is_creation(attributes, "pods") or is_resize(attributes)
        is_claim = attributes.resource.gvr.group_resource == "persistentvolumeclaims"
        if not is_pod and (not is_claim or attributes.subresource or attributes.value is None):
            return
        for limits in self._list_limits(attributes.namespace):
            find = _find_pod_problems if is_pod else _find_claim_problems
            problems = list(find(attributes.value or {}, limits))
            if problems:
                text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
                raise build_forbidden(attributes, text)

    def _list_limits(self, namespace: str) -> Iterator[Sequence[Object]]:
        for value in list_objects(self._store, _RANGES, namespace):
            yield get_items(value, "spec", "limits")


def _fill_in(pod: Object, limits: Sequence[Object]) -> None:
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"] |= limit.get("defaultRequest") or {}
            defaults["limits"] |= limit.get("default") or {}
    notes = [
        note
        for member, kind in (("containers", "container"), ("initContainers", "init container"))
        for container in get_items(pod, "spec", member)
        for note in _fill_in_container(container, kind, defaults)
    ]
    if notes:
        metadata = pod.setdefault("metadata", {})
        annotations = dict(metadata.get("annotations") or {})
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = annotations


def _fill_in_container(
    container: Object, kind: str, defaults: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    resources = dict(container.get("resources") or {})
    for member, word in (("requests", "request"), ("limits", "limit")):
        present = resources.get(member) or {}
        added = {name: each for name, each in defaults[member].items() if name not in present}
        if added:
            resources[member] = {**present, **added}
            yield f"{', '.join(sorted(added))} {word} for {kind} {container.get('name')}"
    container["resources"] = resources


def _find_pod_problems(pod: Object, limits: Sequence[Object]) -> Iterator[str]:
    containers = [*get_items(pod, "spec", "containers"), *get_items(pod, "spec", "initContainers")]
    for limit in limits:
        if limit.get("type") == "Container":
            for container in containers:
                requests, maxima = (_read(container, each) for each in ("requests", "limits"))
                yield from _compare(limit, requests, maxima)
        elif limit.get("type") == "Pod":
            yield from _compare(limit, _sum(pod, "requests"), _sum(pod, "limits"))


def _find_claim_problems(claim: Object, limits: Sequence[Object]) -> Iterator[str]:
    requests = _parse(get_mapping(claim, "spec", "resources", "requests"))
    for limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for name, enforced in sorted(_parse(limit.get("min")).items()):
            yield from _check_min("PersistentVolumeClaim", name, enforced, requests, {})
        for name, enforced in sorted(_parse(limit.get("max")).items()):
            said = f"maximum {name} usage per PersistentVolumeClaim is {enforced}"
            if name not in requests:
                yield f"{said}.  No request is specified"
            elif enforced < requests[name]:
                yield f"{said}, but request is {requests[name]}"


def _compare(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, enforced in sorted(_parse(limit.get("min")).items()):
        yield from _check_min(kind, name, enforced, requests, limits)
    for name, enforced in sorted(_parse(limit.get("max")).items()):
        yield from _check_max(kind, name, enforced, requests, limits)
    for name, enforced in sorted(_parse(limit.get("maxLimitRequestRatio")).items()):
        yield from _check_ratio(kind, name, enforced, requests, limits)


def _check_min(
    kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    said = f"minimum {name} usage per {kind} is {enforced}"
    if name not in requests:
        yield f"{said}.  No request is specified"
    elif requests[name] < enforced:
        yield f"{said}, but request is {requests[name]}"
    elif name in limits and limits[name] < enforced:
        yield f"{said}, but limit is {limits[name]}"


def _check_max(
    kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    said = f"maximum {name} usage per {kind} is {enforced}"
    if name not in limits:
        yield f"{said}.  No limit is specified"
    elif enforced < limits[name]:
        yield f"{said}, but limit is {limits[name]}"
    elif name in requests and enforced < requests[name]:
        yield f"{said}, but request is {requests[name]}"


def _check_ratio(
    kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    said = f"{name} max limit to request ratio per {kind} is {enforced}"
    if not requests.get(name):
        yield f"{said}, but no request is specified or request is 0"
    elif not limits.get(name):
        yield f"{said}, but no limit is specified or limit is 0"
    elif (ratio := limits[name].as_float() / requests[name].as_float()) > enforced.as_float():
        yield f"{said}, but provided ratio is {ratio:f}"


def _sum(pod: Object, member: str) -> Amounts:
    """Sum the requests or limits of a pod: of its containers, or of an init container with more."""
    total: Amounts = {}
    for container in get_items(pod, "spec", "containers"):
        _add(total, _read(container, member))
    beside: Amounts = {}
    most: Amounts = {}
    for container in get_items(pod, "spec", "initContainers"):
        amounts = _read(container, member)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(beside, amounts)
            _raise(most, beside)
        else:
            _add(amounts, beside)
            _raise(most, amounts)
    _raise(total, most)
    return total


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(most: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in most or most[name] < amount:
            most[name] = amount


def _read(container: Object, member: str) -> Amounts:
    return _parse(get_mapping(container, "resources", member))


def _parse(amounts: Mapping[str, Any] | None) -> Amounts:
    return {name: Quantity.parse(str(amount)) for name, amount in (amounts or {}).items()}
