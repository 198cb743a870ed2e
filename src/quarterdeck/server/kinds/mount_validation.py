"""Volumes that containers mount, and devices they open."""

from collections.abc import Iterator, Mapping

from quarterdeck.meta.field import (
    FieldError,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(
    container: Object, path: str, volumes: Mapping[str, Object]
) -> Iterator[FieldError]:
    """Check the mounts of a container."""
    devices = get_items(container, "volumeDevices")
    names = {each.get("name") or "" for each in devices}
    paths = {each.get("devicePath") or "" for each in devices}
    seen: set[str] = set()
    for index, mount in enumerate(get_items(container, "volumeMounts")):
        place, name = f"{path}.volumeMounts[{index}]", mount.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        if name not in volumes:
            yield not_found(f"{place}.name", name)
        where = mount.get("mountPath") or ""
        if not where:
            yield required(f"{place}.mountPath")
        if where in seen:
            yield invalid(f"{place}.mountPath", where, "must be unique")
        seen.add(where)
        if name in names:
            yield invalid(f"{place}.name", name, "must not already exist in volumeDevices")
        if where in paths:
            text = "must not already exist as a path in volumeDevices"
            yield invalid(f"{place}.mountPath", where, text)
        yield from _validate_sub_path(mount, f"{path}.volumeMounts", index)
        yield from _validate_propagation(mount, container, f"{path}.volumeMounts")


def _validate_sub_path(mount: Object, path: str, index: int) -> Iterator[FieldError]:
    below, expression = mount.get("subPath"), mount.get("subPathExpr")
    if below:
        yield from validators.validate_descending_path(f"{path}.subPath", below)
    if expression and below:
        text = "subPathExpr and subPath are mutually exclusive"
        yield invalid(f"{path}[{index}].subPathExpr", expression, text)
    if expression:
        yield from validators.validate_descending_path(f"{path}.subPathExpr", expression)


def _validate_propagation(mount: Object, container: Object, path: str) -> Iterator[FieldError]:
    mode, place = mount.get("mountPropagation"), f"{path}.mountPropagation"
    yield from validators.validate_enum(place, mode, _PROPAGATIONS)
    is_privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not is_privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(place, text)
    recursive, place = mount.get("recursiveReadOnly"), f"{path}.recursiveReadOnly"
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(place, "may only be specified when readOnly is true")
        if mode not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(place, text)
    elif recursive is not None and recursive != "Disabled":
        yield not_supported(place, recursive, _RECURSIVE)


def validate_devices(
    container: Object, path: str, volumes: Mapping[str, Object]
) -> Iterator[FieldError]:
    """Check the block devices of a container."""
    mounts = get_items(container, "volumeMounts")
    mounted = {each.get("name") or "" for each in mounts}
    paths = {each.get("mountPath") or "" for each in mounts}
    names: set[str] = set()
    seen: set[str] = set()
    for index, device in enumerate(get_items(container, "volumeDevices")):
        place, name = f"{path}.volumeDevices[{index}]", device.get("name") or ""
        where = device.get("devicePath") or ""
        yield from _validate_device_name(name, f"{place}.name", volumes, names)
        if not where:
            yield required(f"{place}.devicePath")
        if where in seen:
            yield invalid(f"{place}.devicePath", where, "must be unique")
        if ".." in where.split("/"):
            yield invalid(f"{place}.devicePath", where, "can not contain backsteps ('..')")
        else:
            seen.add(where)
        if name in mounted:
            yield invalid(f"{place}.name", name, "must not already exist in volumeMounts")
        if where in paths:
            text = "must not already exist as a path in volumeMounts"
            yield invalid(f"{place}.devicePath", where, text)


def _validate_device_name(
    name: str, path: str, volumes: Mapping[str, Object], seen: set[str]
) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    if name in seen:
        yield invalid(path, name, "must be unique")
    if name:
        seen.add(name)
    volume = volumes.get(name)
    if volume is None:
        yield not_found(path, name)
    elif not volume.get("persistentVolumeClaim") and not volume.get("ephemeral"):
        text = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        )
        yield invalid(path, name, text)
