"""Claims and volumes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.quantity import Quantity
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_quantity import format_go_quantity
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.kinds.volume_source_validation import validate_host_path, validate_nfs
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SHORT = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_RECLAIM = ("Delete", "Recycle", "Retain")
_UNSET = "<unset>"
_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs"),
    *("rbd", "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile"),
    *("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local"),
    *("storageos", "csi"),
)
"""Where volumes can be, in the order in which Kubernetes looks."""
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_NOT_A_SOURCE = frozenset(
    {
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    }
)


def _get_storage_class(value: Object) -> str:
    """Return the storage class; the annotation that came before the field counts first."""
    old = (value["metadata"].get("annotations") or {}).get(_OLD_CLASS)
    return str(old or get_mapping(value, "spec").get("storageClassName") or "")


def _format_modes(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _SHORT.items() if mode in modes)


# claims ------------------------------------------------------------------------------------------


def _default_claim(value: Object) -> None:
    set_defaults(value.setdefault("spec", {}), volumeMode="Filesystem")
    _default_phase(value)


def _default_phase(value: Object) -> None:
    status = value.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def _prepare_claim(value: Object, context: Context) -> None:
    value["status"] = {"phase": "Pending"}
    spec = value["spec"]
    spec.pop("volumeAttributesClassName", None)
    if not _is_known_source(get_mapping(spec, "dataSource")):
        spec.pop("dataSource", None)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is not None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)
    elif source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)


def _is_known_source(source: Object) -> bool:
    """Whether the older of two fields can name a source; others are dropped."""
    identity = (source.get("apiGroup") or "", source.get("kind"))
    return identity in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )


def _prepare_claim_update(value: Object, old: Object, context: Context) -> None:
    """Drop members of a feature of Kubernetes 1.32 that is off, unless they were there."""
    if not get_mapping(old, "spec").get("volumeAttributesClassName"):
        value["spec"].pop("volumeAttributesClassName", None)
    for member in ("currentVolumeAttributesClassName", "modifyVolumeStatus"):
        if member not in get_mapping(old, "status"):
            get_mapping(value, "status").pop(member, None)


def _claim_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    modes = get_items(spec, "accessModes")
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    yield from _validate_modes(modes)
    storage = get_field(spec, "resources", "requests", "storage")
    if storage is None:
        yield required("spec.resources[storage]")
    else:
        yield from _validate_positive("spec.resources[storage]", storage)
    yield from validators.validate_label_selector("spec.selector", spec.get("selector"))
    yield from _validate_class_name(spec)
    yield from validators.validate_enum(
        "spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )
    for member in ("dataSource", "dataSourceRef"):
        if (source := spec.get(member)) is not None:
            yield from _validate_data_source(source, f"spec.{member}")


def _validate_modes(modes: Sequence[str]) -> Iterator[FieldError]:
    for mode in modes:
        yield from validators.validate_enum("spec.accessModes", mode, _MODES)
    others = set(modes) & set(_MODES) - {"ReadWriteOncePod"}
    if "ReadWriteOncePod" in modes and others:
        text = "may not use ReadWriteOncePod with other access modes"
        yield forbidden("spec.accessModes", text)


def _validate_positive(path: str, amount: object) -> Iterator[FieldError]:
    if Quantity.parse(str(amount)).sign() <= 0:
        yield invalid(path, str(amount), "must be greater than zero")


def _validate_class_name(spec: Object) -> Iterator[FieldError]:
    if name := spec.get("storageClassName"):
        for problem in names.check_dns1123_subdomain(name):
            yield invalid("spec.storageClassName", name, problem)


def _validate_data_source(source: Object, path: str) -> Iterator[FieldError]:
    kind, group = source.get("kind") or "", source.get("apiGroup") or ""
    for member in ("name", "kind"):
        if not source.get(member):
            yield required(f"{path}.{member}")
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, kind, text)
    if group:
        for problem in names.check_dns1123_subdomain(group):
            yield invalid(f"{path}.apiGroup", group, problem)
    if namespace := source.get("namespace"):
        for problem in names.check_dns1123_label(namespace):
            yield invalid(f"{path}.namespace", namespace, problem)


def _claim_changes(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    if _without_mutable_fields(spec, value, old) != _without_mutable_fields(before, value, old):
        text = (
            "spec is immutable after creation except resources.requests and"
            " volumeAttributesClassName for bound claims"
        )
        yield forbidden("spec", text)
    size, was = (
        Quantity.parse(str(get_field(each, "resources", "requests", "storage") or 0))
        for each in (spec, before)
    )
    capacity = Quantity.parse(str(get_field(old, "status", "capacity", "storage") or 0))
    if size < was and size <= capacity:
        text = "field can not be less than status.capacity"
        yield forbidden("spec.resources.requests.storage", text)
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid("volumeMode", spec.get("volumeMode"), validators.IMMUTABLE)


def _without_mutable_fields(spec: Object, value: Object, old: Object) -> Object:
    """A spec of a claim without what may change: the volume once, the size of bound claims."""
    kept = dict(spec)
    if not get_field(old, "spec", "volumeName"):
        kept.pop("volumeName", None)
    if get_field(old, "spec", "storageClassName") is None:
        kept.pop("storageClassName", None)
    if get_field(value, "status", "phase") == "Bound":
        kept.pop("volumeAttributesClassName", None)
        resources = get_mapping(spec, "resources")
        asked = get_mapping(resources, "requests")
        requests = {name: each for name, each in asked.items() if name != "storage"}
        kept["resources"] = {**resources, "requests": requests}
    return kept


def _claim_cells(value: Object, now: datetime) -> Sequence[object]:
    spec, status = get_mapping(value, "spec"), get_mapping(value, "status")
    bound = bool(spec.get("volumeName"))
    terminating = value["metadata"].get("deletionTimestamp")
    return (
        value["metadata"].get("name", ""),
        "Terminating" if terminating else status.get("phase") or "",
        spec.get("volumeName") or "",
        str(get_field(status, "capacity", "storage") or "0") if bound else "",
        _format_modes(get_items(status, "accessModes")) if bound else "",
        _get_storage_class(value),
        spec.get("volumeAttributesClassName") or _UNSET,
        format_creation_age(value, now),
        spec.get("volumeMode") or _UNSET,
    )


CLAIM = Rules(
    default=_default_claim,
    prepare_create=_prepare_claim,
    prepare_update=_prepare_claim_update,
    validate=_claim_problems,
    validate_change=_claim_changes,
    status_updates_labels=True,
    columns=(
        NAME,
        build_column("Status"),
        build_column("Volume"),
        build_column("Capacity"),
        build_column("Access Modes"),
        build_column("StorageClass"),
        build_column("VolumeAttributesClass"),
        AGE,
        build_wide_column("VolumeMode"),
    ),
    cells=_claim_cells,
)


# volumes -----------------------------------------------------------------------------------------


def _default_volume(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    _default_phase(value)
    if (host := spec.get("hostPath")) is not None:
        set_defaults(host, type="")


def _prepare_volume(value: Object, context: Context) -> None:
    value["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(context.now)}


def _prepare_volume_update(value: Object, old: Object, context: Context) -> None:
    """Note when the phase changed, unless the client did."""
    if context.subresource != "status":
        return
    status, before = value["status"], get_mapping(old, "status")
    changed, moment = before.get("lastPhaseTransitionTime"), status.get("lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        if not moment and changed:
            status["lastPhaseTransitionTime"] = changed
    elif not moment or moment == changed:
        status["lastPhaseTransitionTime"] = format_time(context.now)


def _validate_volume(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    modes = get_items(spec, "accessModes")
    if not modes:
        yield required("spec.accessModes")
    yield from _validate_modes(modes)
    capacity = get_mapping(spec, "capacity")
    if not capacity:
        yield required("spec.capacity")
    if set(capacity) != {"storage"}:
        shown = _format_resources(spec.get("capacity"))
        yield not_supported("spec.capacity", shown, ("storage",))
    for name, amount in sorted(capacity.items()):
        yield from validators.validate_quantity(f"spec.capacity[{name}]", amount)
        yield from _validate_positive(f"spec.capacity[{name}]", amount)
    policy = spec.get("persistentVolumeReclaimPolicy")
    yield from validators.validate_enum("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    yield from _validate_source(spec)
    yield from _validate_class_name(spec)
    yield from validators.validate_enum(
        "spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )


def _validate_source(spec: Object) -> Iterator[FieldError]:
    """Check that a volume has one source; the first of several in Kubernetes' order counts."""
    given = [name for name in _SOURCES if spec.get(name) is not None]
    if not given:
        yield required("spec", "must specify a volume type")
        return
    if given[0] == "hostPath":
        yield from validate_host_path(spec["hostPath"], "spec.hostPath")
    elif given[0] == "nfs":
        yield from validate_nfs(spec["nfs"], "spec.nfs")
    for name in given[1:]:
        if name != "flexVolume":  # which Kubernetes does not count
            shown = "cephFS" if name == "cephfs" else name
            yield forbidden(f"spec.{shown}", "may not specify more than 1 volume type")


def _format_resources(resources: Object | None) -> Bare:
    """Quantities by name as Go prints them."""
    if resources is None:
        return Bare("core.ResourceList(nil)")
    members = (
        f"{quote(name)}:{format_go_quantity(Quantity.parse(str(resources[name])))}"
        for name in sorted(resources)
    )
    return Bare("core.ResourceList{" + ", ".join(members) + "}")


def _validate_volume_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    sources = (spec.keys() | before.keys()) - _NOT_A_SOURCE
    if any(spec.get(name) != before.get(name) for name in sources):
        text = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", text)
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid("volumeMode", spec.get("volumeMode"), validators.IMMUTABLE)


def _build_volume_cells(value: Object, now: datetime) -> Sequence[object]:
    spec, status = get_mapping(value, "spec"), get_mapping(value, "status")
    claim = spec.get("claimRef")
    terminating = value["metadata"].get("deletionTimestamp")
    return (
        value["metadata"].get("name", ""),
        str(get_field(spec, "capacity", "storage") or "0"),
        _format_modes(get_items(spec, "accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        "Terminating" if terminating else status.get("phase") or "",
        f"{claim.get('namespace')}/{claim.get('name')}" if claim else "",
        _get_storage_class(value),
        spec.get("volumeAttributesClassName") or _UNSET,
        status.get("reason") or "",
        format_creation_age(value, now),
        spec.get("volumeMode") or _UNSET,
    )


def _find_volume_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Find deprecated fields; not asked for writes of the status."""
    if context.subresource or (old is not None and old.get("spec") == value.get("spec")):
        return ()
    found = []
    if _OLD_CLASS in (value["metadata"].get("annotations") or {}):
        found.append(
            f'metadata.annotations[{_OLD_CLASS}]: deprecated since v1.8; use "storageClassName"'
            " attribute instead"
        )
    if get_mapping(value, "spec").get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning."
        )
    return found


VOLUME = Rules(
    default=_default_volume,
    warn=_find_volume_warnings,
    prepare_create=_prepare_volume,
    prepare_update=_prepare_volume_update,
    validate=_validate_volume,
    validates_twice=True,
    validate_change=_validate_volume_update,
    status_updates_labels=True,
    columns=(
        NAME,
        build_column("Capacity"),
        build_column("Access Modes"),
        build_column("Reclaim Policy"),
        build_column("Status"),
        build_column("Claim"),
        build_column("StorageClass"),
        build_column("VolumeAttributesClass"),
        build_column("Reason"),
        AGE,
        build_wide_column("VolumeMode"),
    ),
    cells=_build_volume_cells,
)
