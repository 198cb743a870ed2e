"""Resources of a pod as a whole, which its containers share."""

from collections.abc import Iterator

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported
from quarterdeck.server.kinds.container_validation import validate_resources
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.pod_features import get_claim_names, validate_claims
from quarterdeck.server.registry.resource import Object

_POD_RESOURCES = ("cpu", "hugepages-", "memory")

FieldErrors = Iterator[FieldError]


def default_pod_resources(spec: Object) -> None:
    """Fill in requests of a pod from those of its containers, and from its own limits."""
    resources = spec.get("resources")
    if not resources or not resources.get("limits"):
        return
    requests = dict(resources.get("requests") or {})
    for name, amount in sum_requests(spec).items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, str(amount))
    for name, amount in (resources.get("limits") or {}).items():
        if is_pod_resource(name):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def is_pod_resource(name: str) -> bool:
    """Whether a resource can be requested at the level of the pod."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def sum_requests(spec: Object) -> dict[str, Quantity]:
    """Return the most that the containers of a pod request at one time."""
    total: dict[str, Quantity] = {}
    for container in get_items(spec, "containers"):
        _add(total, _get_requests(container))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in get_items(spec, "initContainers"):
        own = _get_requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise_amounts(peak, sidecars)
        else:
            while_it_runs = dict(sidecars)
            _add(while_it_runs, own)
            _raise_amounts(peak, while_it_runs)
    _raise_amounts(total, peak)
    return total


def _get_requests(container: Object) -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for name, amount in get_mapping(container, "resources", "requests").items():
        try:
            found[name] = Quantity.parse(str(amount))
        except QuantityError:
            continue  # reported where the amounts are validated
    return found


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_amounts(total: dict[str, Quantity], other: dict[str, Quantity]) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def validate_pod_resources(spec: Object, path: str) -> FieldErrors:
    """Check that the resources of a pod suffice for its containers."""
    resources = spec.get("resources")
    if resources is None:
        return
    place = f"{path}.resources"
    if get_field(spec, "os", "name") == "windows":
        yield forbidden(place, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        text = "claims may not be set for Resources at pod-level"
        yield forbidden(f"{place}.claims", text)
    yield from validate_claims(spec, path, get_claim_names(spec))
    yield from _validate_amounts(resources, place)
    own = get_mapping(resources, "requests")
    for name, amount in sorted(sum_requests(spec).items()):
        if name in own and amount > Quantity.parse(str(own[name])):
            text = f"must be greater than or equal to aggregate container requests of {amount}"
            yield invalid(f"{place}.requests[{name}]", str(own[name]), text)
    limits = get_mapping(resources, "limits")
    for index, container in enumerate(get_items(spec, "containers")):
        for name, amount in sorted(get_mapping(container, "resources", "limits").items()):
            if name in limits and Quantity.parse(str(amount)) > Quantity.parse(str(limits[name])):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{place}.containers[{index}][{name}].limits", str(amount), text)


def _validate_amounts(resources: Object, path: str) -> FieldErrors:
    def check(place: str, name: str) -> FieldErrors:
        if not is_pod_resource(name):
            yield not_supported(place, name, _POD_RESOURCES)

    yield from validate_resources(resources, path, check=check)
