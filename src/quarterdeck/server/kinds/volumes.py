"""Claims, volumes and storage classes."""

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
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_quantity import format_go_quantity
from quarterdeck.server.kinds.strategy import Rules
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


def _claim_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    modes = get_items(spec, "accessModes")
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        yield from validators.validate_enum("spec.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        yield forbidden("spec.accessModes", text)
    storage = get_field(spec, "resources", "requests", "storage")
    if storage is None:
        yield required("spec.resources[storage]")
    else:
        yield from validators.validate_quantity("spec.resources[storage]", storage)
    yield from validators.validate_label_selector("spec.selector", spec.get("selector"))
    yield from validators.validate_enum(
        "spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )


_MUTABLE_CLAIM_FIELDS = ("resources", "volumeAttributesClassName")


def _claim_changes(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    allowed = _MUTABLE_CLAIM_FIELDS if before.get("volumeName") else ("volumeName",)
    members = (spec.keys() | before.keys()) - set(allowed)
    if any(spec.get(member) != before.get(member) for member in members):
        text = (
            "spec is immutable after creation except resources.requests and"
            " volumeAttributesClassName for bound claims"
        )
        yield forbidden("spec", text)


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
    prepare_create=lambda value, context: value.__setitem__("status", {"phase": "Pending"}),
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
    if (host := spec.get("hostPath")) is not None:
        set_defaults(host, type="")


def _prepare_volume(value: Object, context: Context) -> None:
    value["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(context.now)}


def _validate_volume(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    modes = get_items(spec, "accessModes")
    if not modes:
        yield required("spec.accessModes")
    for mode in modes:
        yield from validators.validate_enum("spec.accessModes", mode, _MODES)
    capacity = get_mapping(spec, "capacity")
    if not capacity:
        yield required("spec.capacity")
    if set(capacity) != {"storage"}:
        shown = _format_resources(spec.get("capacity"))
        yield not_supported("spec.capacity", shown, ("storage",))
    for name, amount in sorted(capacity.items()):
        yield from validators.validate_quantity(f"spec.capacity[{name}]", amount)
    policy = spec.get("persistentVolumeReclaimPolicy")
    yield from validators.validate_enum("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    sources = [
        name for name, each in spec.items() if name not in _NOT_A_SOURCE and each is not None
    ]
    if not sources:
        yield required("spec", "must specify a volume type")
    elif len(sources) > 1:
        yield forbidden(f"spec.{sources[1]}", "may not specify more than 1 volume type")


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
    validate=_validate_volume,
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


# classes -----------------------------------------------------------------------------------------

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _default_class(value: Object) -> None:
    set_defaults(value, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _validate_class(value: Object, context: Context) -> Iterator[FieldError]:
    if not value.get("provisioner"):
        yield required("provisioner")
    yield from validators.validate_enum(
        "reclaimPolicy", value.get("reclaimPolicy"), ("Delete", "Retain")
    )
    binding = ("Immediate", "WaitForFirstConsumer")
    yield from validators.validate_required_enum(
        "volumeBindingMode", value.get("volumeBindingMode"), binding
    )


def _validate_class_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if get_mapping(value, "parameters") != get_mapping(old, "parameters"):
        yield forbidden("parameters", "updates to parameters are forbidden.")
    if value.get("provisioner") != old.get("provisioner"):
        yield forbidden("provisioner", "updates to provisioner are forbidden.")
    if value.get("reclaimPolicy") != old.get("reclaimPolicy"):
        yield forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden.")
    if value.get("volumeBindingMode") != old.get("volumeBindingMode"):
        yield invalid("volumeBindingMode", value.get("volumeBindingMode"), validators.IMMUTABLE)


def _build_class_cells(value: Object, now: datetime) -> Sequence[object]:
    name = value["metadata"].get("name", "")
    if get_mapping(value, "metadata", "annotations").get(_DEFAULT_CLASS) == "true":
        name += " (default)"
    return (
        name,
        value.get("provisioner") or "",
        value.get("reclaimPolicy") or "Delete",
        value.get("volumeBindingMode") or "Immediate",
        bool(value.get("allowVolumeExpansion")),
        format_creation_age(value, now),
    )


STORAGE_CLASS = Rules(
    default=_default_class,
    validate=_validate_class,
    validate_change=_validate_class_update,
    columns=(
        NAME,
        build_column("Provisioner"),
        build_column("ReclaimPolicy"),
        build_column("VolumeBindingMode"),
        build_column("AllowVolumeExpansion"),
        AGE,
    ),
    cells=_build_class_cells,
)
