"""Volumes on disks and servers outside of the node: of pods, and persistent ones."""

import re
from collections.abc import Iterator
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    FieldError,
    invalid,
    not_supported,
    required,
    too_long,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.registry.resource import Object

_REQUIRED = {
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "iscsi": ("targetPortal", "iqn"),
    "glusterfs": ("endpoints", "path"),
    "rbd": ("monitors", "image"),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "flexVolume": ("driver",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "storageos": ("volumeName",),
    "scaleIO": ("gateway", "system", "volumeName"),
}
"""Members that a source of a kind must have."""
_DEFAULTS: dict[str, dict[str, Any]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "kind": "Shared",
        "fsType": "ext4",
        "readOnly": False,
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z.-]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[0-9A-Za-z]{16}$"),
    "naa": re.compile(r"^naa.[0-9A-Za-z]{32}$"),
}
_PARTITION = "must be between 1 and 255, inclusive"
_UNIT = "must be between 0 and 255, inclusive"
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_HOSTS = "must be a host:port pair or multiple pairs separated by commas"
_LONGEST_DRIVER = 63


def default_network_volume(volume: Object) -> None:
    """Fill in the sources that have defaults."""
    for member, defaults in _DEFAULTS.items():
        if (source := volume.get(member)) is not None:
            set_defaults(source, **defaults)


def validate_network_volume(
    source: Object, path: str, member: str, *, is_persistent: bool = False
) -> Iterator[FieldError]:
    """Check a source of a volume; `member` is its type."""
    if member == "gcePersistentDisk":
        path = f"{path.rpartition('.')[0]}.persistentDisk"  # Kubernetes' own spelling
    for name in _REQUIRED.get(member, ()):
        if not source.get(name):
            yield required(f"{path}.{name}")
    match member:
        case "gitRepo":
            directory = source.get("directory") or ""
            yield from validators.validate_descending_path(f"{path}.directory", directory)
        case "gcePersistentDisk" | "awsElasticBlockStore":
            partition = source.get("partition") or 0
            if not 0 <= partition <= 255:
                yield invalid(f"{path}.partition", partition, _PARTITION)
        case "iscsi":
            yield from _validate_iscsi(source, path, is_persistent=is_persistent)
        case "fc":
            yield from _validate_fibre_channel(source, path)
        case "quobyte":
            yield from _validate_quobyte(source, path)
        case "flocker":
            yield from _validate_flocker(source, path)
        case "flexVolume":
            yield from _validate_options(source, path)
        case "azureDisk":
            yield from _validate_azure_disk(source, path)
        case "storageos":
            yield from _validate_labels(source, path)
        case "csi":
            yield from validate_driver_name(source.get("driver") or "", f"{path}.driver")


def validate_driver_name(name: str, path: str) -> Iterator[FieldError]:
    """Check the name of a storage driver."""
    if not name:
        yield required(path)
    if len(name) > _LONGEST_DRIVER:
        yield too_long(path, name, _LONGEST_DRIVER)
    for problem in names.check_dns1123_subdomain(name.lower()):
        yield invalid(path, name, problem)


def _validate_iscsi(source: Object, path: str, *, is_persistent: bool) -> Iterator[FieldError]:
    start = "" if is_persistent else " starting with iqn, eui, or naa"
    for member, shown in (("iqn", "iqn"), ("initiatorName", "initiatorname")):
        name = source.get(member)
        if name is None or (not name and member == "iqn"):
            continue
        pattern = _INITIATORS.get(name[:3])
        if pattern is None:
            yield invalid(f"{path}.{shown}", name, f"must be valid format{start}")
        elif not pattern.search(name):
            yield invalid(f"{path}.{shown}", name, "must be valid format")
    unit = source.get("lun") or 0
    if not 0 <= unit <= 255:
        yield invalid(f"{path}.lun", unit, _UNIT)
    is_checked = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if is_checked and source.get("secretRef") is None:
        yield required(f"{path}.secretRef")


def _validate_fibre_channel(source: Object, path: str) -> Iterator[FieldError]:
    targets, unit = get_items(source, "targetWWNs"), source.get("lun")
    ids, place = get_items(source, "wwids"), f"{path}.targetWWNs"
    if not targets and not ids:
        yield required(place, "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        shown = validators.format_go_strings(targets)
        yield invalid(place, shown, "targetWWNs and wwids can not be specified simultaneously")
    if targets and unit is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets and unit is not None and not 0 <= unit <= 255:
        yield invalid(f"{path}.lun", unit, _UNIT)


def _validate_quobyte(source: Object, path: str) -> Iterator[FieldError]:
    registry = source.get("registry") or ""
    if not registry:
        yield required(f"{path}.registry", _HOSTS)
    elif len(source.get("tenant") or "") > 64:
        text = "must be a UUID and may not exceed a length of 64 characters"
        yield required(f"{path}.tenant", text)
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"[^:\[\]]*:[^:\[\]]*|\[[^\[\]]*\]:[^:\[\]]*", pair):
                yield invalid(f"{path}.registry", registry, _HOSTS)
    if not source.get("volume"):
        yield required(f"{path}.volume")


def _validate_flocker(source: Object, path: str) -> Iterator[FieldError]:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        yield invalid(path, "resource", text)
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def _validate_options(source: Object, path: str) -> Iterator[FieldError]:
    for name in sorted(get_mapping(source, "options")):
        domain = f".{name.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            yield invalid(f"{path}.options[{name}]", name, text)


def _validate_azure_disk(source: Object, path: str) -> Iterator[FieldError]:
    kind, address = source.get("kind"), source.get("diskURI") or ""
    mode = source.get("cachingMode")
    yield from validators.validate_enum(f"{path}.cachingMode", mode, _CACHING_MODES)
    yield from validators.validate_enum(f"{path}.kind", kind, _DISK_KINDS)
    if kind == "Managed" and not address.startswith("/subscriptions/"):
        yield not_supported(f"{path}.diskURI", address, (f"{_MANAGED}{{disk-id}}",))
    if kind not in (None, "Managed") and not address.startswith("https://"):
        yield not_supported(f"{path}.diskURI", address, (_BLOB,))


def _validate_labels(source: Object, path: str) -> Iterator[FieldError]:
    for member in ("volumeName", "volumeNamespace"):
        if name := source.get(member):
            for problem in names.check_dns1123_label(name):
                yield invalid(f"{path}.{member}", name, problem)
