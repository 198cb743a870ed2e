"""Volumes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.quantity import Quantity
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.affinity_validation import validate_node_selector
from quarterdeck.server.kinds.claim_warnings import find_class_warnings
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_quantity import format_go_quantity
from quarterdeck.server.kinds.network_volume_validation import default_network_volume
from quarterdeck.server.kinds.persistent_volume_validation import validate_persistent_source
from quarterdeck.server.kinds.pod_warnings import DEPRECATED_VOLUMES
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.volume_fields import (
    UNSET,
    default_phase,
    format_modes,
    get_storage_class,
    validate_class_name,
    validate_modes,
    validate_positive,
)
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object

_RECLAIM = ("Delete", "Recycle", "Retain")
_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs"),
    *("rbd", "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile"),
    *("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local"),
    *("storageos", "csi"),
)
"""The volume sources, in the order in which Kubernetes checks them."""
_DEPRECATED = DEPRECATED_VOLUMES.keys() - {"flocker", "quobyte"}
"""Deprecated sources, for which a persistent volume gets a warning."""
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


def _default_volume(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    default_phase(value)
    if (host := spec.get("hostPath")) is not None:
        set_defaults(host, type="")
    default_network_volume(spec)


def _prepare_volume(value: Object, context: Context) -> None:
    if not has_feature("VolumeAttributesClass"):
        value["spec"].pop("volumeAttributesClassName", None)
    value["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(context.now)}


def _prepare_volume_update(value: Object, old: Object, context: Context) -> None:
    """Set the transition time of the phase unless the client did; drop a disabled field."""
    is_used = get_mapping(old, "spec").get("volumeAttributesClassName") is not None
    if not (is_used or has_feature("VolumeAttributesClass")):
        value["spec"].pop("volumeAttributesClassName", None)
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
    yield from validate_modes(modes)
    capacity = get_mapping(spec, "capacity")
    if not capacity:
        yield required("spec.capacity")
    if set(capacity) != {"storage"}:
        shown = _format_resources(spec.get("capacity"))
        yield not_supported("spec.capacity", shown, ("storage",))
    for name, amount in sorted(capacity.items()):
        yield from validators.validate_quantity(f"spec.capacity[{name}]", amount)
        yield from validate_positive(f"spec.capacity[{name}]", amount)
    policy = spec.get("persistentVolumeReclaimPolicy")
    yield from validators.validate_enum("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    if (affinity := spec.get("nodeAffinity")) is not None:
        yield from _validate_affinity(affinity, "spec.nodeAffinity")
    yield from _validate_source(spec)
    yield from validate_class_name(spec)
    yield from validators.validate_enum(
        "spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )
    if has_feature("VolumeAttributesClass") and spec.get("volumeAttributesClassName"):
        yield from validate_class_name(spec, member="volumeAttributesClassName")
        if spec.get("csi") is None:
            text = "has to be specified when using volumeAttributesClassName"
            yield required("spec.csi", text)


def _validate_source(spec: Object) -> Iterator[FieldError]:
    """Check that a volume has one source; of several the first in Kubernetes' order is checked."""
    given = [name for name in _SOURCES if spec.get(name) is not None]
    if not given:
        yield required("spec", "must specify a volume type")
        return
    yield from validate_persistent_source(spec, given[0])
    for name in given[1:]:
        if name != "flexVolume":  # which Kubernetes does not count
            shown = "cephFS" if name == "cephfs" else name
            yield forbidden(f"spec.{shown}", "may not specify more than 1 volume type")


def _validate_affinity(affinity: Object, path: str) -> Iterator[FieldError]:
    """Check the node affinity of a volume."""
    selector = affinity.get("required")
    if selector is None:
        yield required(f"{path}.required", "must specify required node constraints")
    else:
        yield from validate_node_selector(selector, f"{path}.required")


def _format_resources(resources: Object | None) -> Bare:
    """Format quantities by name as Go prints them."""
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
        format_modes(get_items(spec, "accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        "Terminating" if terminating else status.get("phase") or "",
        f"{claim.get('namespace')}/{claim.get('name')}" if claim else "",
        get_storage_class(value),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason") or "",
        format_creation_age(value, now),
        spec.get("volumeMode") or UNSET,
    )


def _find_volume_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Warn of deprecated fields; not for writes of the status."""
    if context.subresource or (old is not None and old.get("spec") == value.get("spec")):
        return ()
    found = [*find_class_warnings(value)]
    if get_mapping(value, "spec").get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning."
        )
    for member in sorted(_DEPRECATED & get_mapping(value, "spec").keys()):
        shown = "storageOS" if member == "storageos" else member
        found.append(f"spec.{shown}: {DEPRECATED_VOLUMES[member]}")
    return found


PERSISTENT_VOLUME = Rules(
    default=_default_volume,
    warn=_find_volume_warnings,
    prepare_create=_prepare_volume,
    prepare_update=_prepare_volume_update,
    validate=_validate_volume,
    validates_twice=True,
    validates_twice_in_newer_releases=True,
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
