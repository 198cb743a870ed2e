"""`pods/resize`: changes only the resources of running containers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.pod_defaults import compute_qos_class
from quarterdeck.server.registry.resource import Object

RESIZE = "resize"
_LISTS = ("containers", "initContainers")
_RESIZABLE = ("cpu", "memory")
_TAKEN = ("resources", "resizePolicy")
_EMPTY_PATH = "[]"
"""The field that Kubernetes shows for an empty path."""
_MIRROR = "kubernetes.io/config.mirror"


def merge_resize(spec: Object, before: Object) -> Object:
    """Return the old spec with the new resources; reordered containers are refused later."""
    if any(len(get_items(spec, name)) != len(get_items(before, name)) for name in _LISTS):
        return spec
    merged = {**before}
    if has_feature("InPlacePodLevelResourcesVerticalScaling"):
        merged.pop("resources", None)
        if "resources" in spec:
            merged["resources"] = spec["resources"]
    for name in _LISTS:
        if name in before:
            merged[name] = _merge_containers(get_items(spec, name), before[name])
    copied: Object = copy_value(merged)
    return copied


def _merge_containers(new: Sequence[Object], old: Sequence[Object]) -> Sequence[Object]:
    if _get_names(new) != _get_names(old):
        return new
    return [_merge_container(each, before) for each, before in zip(new, old, strict=True)]


def _merge_container(new: Object, old: Object) -> Object:
    kept = {name: each for name, each in old.items() if name not in _TAKEN}
    taken = {name: each for name, each in new.items() if name in _TAKEN}
    return {**kept, **taken}


def _get_names(containers: Sequence[Object]) -> list[str]:
    return [each.get("name") or "" for each in containers]


# what may change ---------------------------------------------------------------------------------


def validate_resize(pod: Object, old: Object) -> Iterator[FieldError]:
    """Check a resize; the new spec itself is validated like that of every pod."""
    if _MIRROR in get_mapping(old, "metadata", "annotations"):
        yield forbidden(_EMPTY_PATH, "static pods cannot be resized")
        return
    if get_field(old, "spec", "os", "name") == "windows":
        yield forbidden(_EMPTY_PATH, "windows pods cannot be resized")
        return
    spec, before = get_mapping(pod, "spec"), get_mapping(old, "spec")
    quality = get_field(old, "status", "qosClass") or compute_qos_class(before)
    if quality != compute_qos_class(spec):
        text = "Pod QOS Class may not change as a result of resizing"
        yield invalid("spec", get_field(pod, "status", "qosClass") or "", text)
    if not _can_node_resize(old):
        yield forbidden("spec", "Pod running on node without support for resize")
    yield from _validate_pod_resources(spec, before)
    problems = [*_validate_order(spec, before)]
    yield from problems or _validate_containers(spec, before)


def _can_node_resize(old: Object) -> bool:
    """Whether the kubelet supports resizing: it reports the resources of running containers."""
    for each in get_items(old, "status", "containerStatuses"):
        if get_field(each, "state", "running") is not None:
            return each.get("resources") is not None
    return True


def _validate_pod_resources(spec: Object, before: Object) -> Iterator[FieldError]:
    """Check the change of resources of the pod as a whole."""
    new, old = get_mapping(spec, "resources"), get_mapping(before, "resources")
    if not any(each.get(name) for each in (new, old) for name in ("requests", "limits")):
        return
    if "resources" in before and "resources" not in spec:
        yield forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    yield from _find_removed(new, old, "spec.resources", "pod-level resource")
    if not _are_equal(_get_fixed(new), _get_fixed(old)):
        yield forbidden("spec", "only cpu and memory resources are mutable at pod-level")


def _validate_order(spec: Object, before: Object) -> Iterator[FieldError]:
    for name in _LISTS:
        new, old = get_items(spec, name), get_items(before, name)
        if len(new) != len(old):
            yield forbidden(f"spec.{name}", f"{name} may not be added or removed on resize")
            continue
        for index, (each, was) in enumerate(zip(_get_names(new), _get_names(old), strict=True)):
            if each != was:
                text = f"{name} may not be renamed or reordered on resize"
                yield forbidden(f"spec.{name}[{index}].name", text)


def _validate_containers(spec: Object, before: Object) -> Iterator[FieldError]:
    pairs = {
        name: [*zip(get_items(spec, name), get_items(before, name), strict=True)] for name in _LISTS
    }
    for index, (new, old) in enumerate(pairs["initContainers"]):
        if _can_resize_init(old):
            path = f"spec.initContainers[{index}].resources"
            yield from _find_removed(get_mapping(new, "resources"), old.get("resources"), path)
    for index, (new, old) in enumerate(pairs["containers"]):
        path = f"spec.containers[{index}].resources"
        yield from _find_removed(get_mapping(new, "resources"), old.get("resources"), path)
    for new, old in pairs["containers"]:
        if not _changes_only_resources(new, old):
            yield forbidden("spec", "only cpu and memory resources are mutable")
    for index, (new, old) in enumerate(pairs["initContainers"]):
        yield from _validate_init_container(new, old, f"spec.initContainers[{index}]")


def _validate_init_container(new: Object, old: Object, path: str) -> Iterator[FieldError]:
    is_changed = not _are_equal(new, old)
    if not _can_resize_init(new):
        if is_changed:
            text = "resources for non-sidecar init containers are immutable"
            yield forbidden("spec", text)
        return
    if not _changes_only_resources(new, old):
        text = "only cpu and memory resources for init or sidecar containers are mutable"
        yield forbidden(path, text)
    if is_changed and not _is_sidecar(new):
        for policy in get_items(new, "resizePolicy"):
            if policy.get("restartPolicy") == "RestartContainer":
                text = (
                    "non-sidecar init containers with a resize policy of RestartContainer"
                    " cannot be resized"
                )
                yield forbidden(path, text)


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _can_resize_init(container: Object) -> bool:
    return _is_sidecar(container) or has_feature("InPlacePodVerticalScalingInitContainers")


def _find_removed(
    new: Object, old: Object | None, path: str, words: str = "resource"
) -> Iterator[FieldError]:
    for member in ("requests", "limits"):
        if get_mapping(old or {}, member).keys() - get_mapping(new, member).keys():
            yield forbidden(f"{path}.{member}", f"{words} {member} cannot be removed")


def _changes_only_resources(new: Object, old: Object) -> bool:
    """Whether only CPU and memory of a container changed."""
    fixed = [_get_fixed(get_mapping(each, "resources")) for each in (new, old)]
    if claims := get_field(old, "resources", "claims"):
        fixed[1]["claims"] = claims  # Kubernetes drops those of the new container only
    return _are_equal({**new, "resources": fixed[0]}, {**old, "resources": fixed[1]})


def _get_fixed(resources: Object) -> Object:
    """Return the resources that may not change: all but CPU and memory."""
    fixed = {
        member: {name: each for name, each in amounts.items() if name not in _RESIZABLE}
        for member in ("limits", "requests")
        if (amounts := get_mapping(resources, member))
    }
    return {member: amounts for member, amounts in fixed.items() if amounts}


def _are_equal(new: Any, old: Any) -> bool:
    """Whether two values are equal; quantities are compared by value."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return new.keys() == old.keys() and all(_are_equal(new[name], old[name]) for name in new)
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_are_equal, new, old))
    return bool(new == old) or _is_same_amount(new, old)


def _is_same_amount(new: Any, old: Any) -> bool:
    if not isinstance(new, str) or not isinstance(old, str):
        return False
    try:
        return Quantity.parse(new) == Quantity.parse(old)
    except QuantityError:
        return False
