"""Where a persistent volume is: the sources of pods, with secrets that name their namespace."""

import posixpath
from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.network_volume_validation import validate_network_volume
from quarterdeck.server.kinds.volume_source_validation import validate_host_path, validate_nfs
from quarterdeck.server.registry.resource import Object

_SECRETS = (
    *("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef"),
    "nodeExpandSecretRef",
)


def validate_persistent_source(spec: Object, member: str) -> Iterator[FieldError]:
    """Check the source of a volume; `member` is its type."""
    source, path = spec[member], f"spec.{member}"
    match member:
        case "hostPath":
            yield from validate_host_path(source, path)
            is_recycled = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
            if is_recycled and posixpath.normpath(source.get("path") or ".") in ("/", "//"):
                text = "may not be 'recycle' for a hostPath mount of '/'"
                yield forbidden("spec.persistentVolumeReclaimPolicy", text)
        case "nfs":
            yield from validate_nfs(source, path)
        case "local":
            yield from _validate_local(spec, path)
        case _:
            yield from validate_network_volume(source, path, member, is_persistent=True)
            yield from _validate_references(source, path, member)


def _validate_local(spec: Object, path: str) -> Iterator[FieldError]:
    where = spec["local"].get("path")
    if not where:
        yield required(f"{path}.path")
    else:
        yield from validators.validate_no_backsteps(f"{path}.path", where)
    if spec.get("nodeAffinity") is None:
        yield required("spec.nodeAffinity", "Local volume requires node affinity")


def _validate_references(source: Object, path: str, member: str) -> Iterator[FieldError]:
    secret: Object | None = source.get("secretRef")
    match member:
        case "iscsi":
            if secret is not None and not secret.get("name"):
                yield required(f"{path}.secretRef.name")
        case "cinder" | "storageos":
            for name in ("name", "namespace"):
                if secret is not None and not secret.get(name):
                    yield required(f"{path}.secretRef.{name}")
        case "glusterfs":
            yield from _validate_namespace(source, path)
        case "azureFile":
            if source.get("secretNamespace") == "":
                yield required(f"{path}.secretNamespace")
        case "csi":
            if not source.get("volumeHandle"):
                yield required(f"{path}.volumeHandle")
            for name in _SECRETS:
                if (reference := source.get(name)) is not None:
                    yield from _validate_secret(reference, f"{path}.{name}")


def _validate_namespace(source: Object, path: str) -> Iterator[FieldError]:
    namespace, place = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        yield invalid(place, namespace, text)
    elif namespace:
        yield from (
            invalid(place, namespace, each) for each in names.check_dns1123_label(namespace)
        )


def _validate_secret(reference: Object, path: str) -> Iterator[FieldError]:
    rules = {"name": names.check_dns1123_subdomain, "namespace": names.check_dns1123_label}
    for member, rule in rules.items():
        text = reference.get(member)
        if not text:
            yield required(f"{path}.{member}")
        else:
            yield from (invalid(f"{path}.{member}", text, each) for each in rule(text))
