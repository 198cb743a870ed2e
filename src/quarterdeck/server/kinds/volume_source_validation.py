"""Volumes of pods: one source each, with what it needs."""

from collections.abc import Iterator
from typing import Any

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

_SOURCES = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret"),
    *("nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs"),
    *("quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume"),
    *("photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO"),
    *("csi", "ephemeral", "image"),
)
"""In the order in which Kubernetes looks at them; the first one counts."""
_SHOWN_NAMES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Kubernetes' own spelling in its messages."""
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate"),
    "Socket",
)
_LARGEST_MODE = 0o777
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"
_NAMED = {"configMap": "name", "secret": "secretName", "persistentVolumeClaim": "claimName"}


def validate_volumes(spec: Object, path: str, found: dict[str, Object]) -> Iterator[FieldError]:
    """Check the volumes of a pod spec; those that are right are put into `found`."""
    for index, volume in enumerate(get_items(spec, "volumes")):
        place, name = f"{path}.volumes[{index}]", volume.get("name") or ""
        problems = [*_validate_source(volume, place)]
        if not name:
            problems.append(required(f"{place}.name"))
        else:
            wrong = names.check_dns1123_label(name)
            problems += [invalid(f"{place}.name", name, problem) for problem in wrong]
        if name in found:
            problems.append(duplicate(f"{place}.name", name))
        if not problems:
            found[name] = volume
        yield from problems


def _validate_source(volume: Object, path: str) -> Iterator[FieldError]:
    given = [member for member in _SOURCES if volume.get(member) is not None]
    if not given:
        yield required(path, "must specify a volume type")
        return
    yield from _validate_first(volume[given[0]], f"{path}.{given[0]}", given[0])
    for member in given[1:]:
        shown = _SHOWN_NAMES.get(member, member)
        yield forbidden(f"{path}.{shown}", "may not specify more than 1 volume type")


def _validate_first(source: Object, path: str, member: str) -> Iterator[FieldError]:
    match member:
        case "emptyDir":
            limit = source.get("sizeLimit")
            if limit is not None and Quantity.parse(str(limit)).sign() < 0:
                text = "SizeLimit field must be a valid resource quantity"
                yield forbidden(f"{path}.sizeLimit", text)
        case "hostPath":
            yield from validate_host_path(source, path)
        case "nfs":
            yield from validate_nfs(source, path)
        case "configMap" | "secret" | "persistentVolumeClaim":
            if not source.get(_NAMED[member]):
                yield required(f"{path}.{_NAMED[member]}")
            yield from _validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
            for index, item in enumerate(get_items(source, "items")):
                yield from _validate_item(item, f"{path}.items[{index}]")


def validate_host_path(source: Object, path: str) -> Iterator[FieldError]:
    """Check a path of the node."""
    where = source.get("path")
    if not where:
        yield required(f"{path}.path")
        return
    yield from validators.validate_no_backsteps(f"{path}.path", where)
    yield from validators.validate_enum(f"{path}.type", source.get("type"), _HOST_PATH_TYPES)


def validate_nfs(source: Object, path: str) -> Iterator[FieldError]:
    """Check an export of an NFS server."""
    where = source.get("path") or ""
    for member in ("server", "path"):
        if not source.get(member):
            yield required(f"{path}.{member}")
    if not where.startswith("/"):
        yield invalid(f"{path}.path", where, "must be an absolute path")


def _validate_item(item: Object, path: str) -> Iterator[FieldError]:
    where = item.get("path") or ""
    for member in ("key", "path"):
        if not item.get(member):
            yield required(f"{path}.{member}")
    yield from validators.validate_descending_path(f"{path}.path", where)
    if where.startswith("..") and where.split("/")[0] != "..":
        yield invalid(f"{path}.path", where, "must not start with '..'")
    yield from _validate_mode(item.get("mode"), f"{path}.mode")


def _validate_mode(mode: Any, path: str) -> Iterator[FieldError]:
    if mode is not None and not 0 <= mode <= _LARGEST_MODE:
        yield invalid(path, mode, _MODE_TEXT)
