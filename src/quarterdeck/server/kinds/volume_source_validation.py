"""Volumes of pods: one source each, with what it needs."""

from collections.abc import Iterator

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.claim_validation import validate_claim_spec
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.network_volume_validation import validate_network_volume
from quarterdeck.server.kinds.projected_volume_validation import (
    validate_key_file,
    validate_mode,
    validate_pod_file,
    validate_projection,
)
from quarterdeck.server.registry.metadata_validation import validate_annotations, validate_labels
from quarterdeck.server.registry.resource import Object

_SOURCES = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret"),
    *("nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs"),
    *("quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume"),
    *("photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO"),
    *("csi", "ephemeral", "image"),
)
"""The volume sources in the order in which Kubernetes checks them; the first one is used."""
_SHOWN_NAMES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Kubernetes' own spelling in its messages."""
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate"),
    "Socket",
)
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
        case "image" if has_feature("ImageVolume"):
            if not source.get("reference"):
                yield required(f"{path}.reference")
            choices = ("Always", "IfNotPresent", "Never")
            policy = source.get("pullPolicy") or None
            yield from validators.validate_enum(f"{path}.pullPolicy", policy, choices)
        case "hostPath":
            yield from validate_host_path(source, path)
        case "nfs":
            yield from validate_nfs(source, path)
        case "configMap" | "secret" | "persistentVolumeClaim":
            if not source.get(_NAMED[member]):
                yield required(f"{path}.{_NAMED[member]}")
            yield from validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
            for index, item in enumerate(get_items(source, "items")):
                yield from validate_key_file(item, f"{path}.items[{index}]")
        case "downwardAPI":
            yield from validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
            for item in get_items(source, "items"):
                yield from validate_pod_file(item, path)
        case "projected":
            yield from validate_projection(source, path)
        case "ephemeral":
            yield from _validate_ephemeral(source, f"{path}.volumeClaimTemplate")
        case _:
            yield from _validate_network(source, path, member)


def _validate_ephemeral(source: Object, path: str) -> Iterator[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(path)
        return
    metadata = get_mapping(template, "metadata")
    yield from validate_annotations(
        metadata.get("annotations") or {}, f"{path}.metadata.annotations"
    )
    yield from validate_labels(metadata.get("labels") or {}, f"{path}.metadata.labels")
    yield from validate_claim_spec(get_mapping(template, "spec"), f"{path}.spec")


def _validate_network(source: Object, path: str, member: str) -> Iterator[FieldError]:
    yield from validate_network_volume(source, path, member)
    place = "nodePublishSecretRef" if member == "csi" else "secretRef"
    secret = source.get(place) if member in ("cinder", "storageos", "csi") else None
    if secret is None:
        return
    name = secret.get("name") or ""
    if not name:
        yield required(f"{path}.{place}.name")
    elif member == "csi":
        for problem in names.check_dns1123_subdomain(name):
            yield invalid(f"{path}.name", name, problem)


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
