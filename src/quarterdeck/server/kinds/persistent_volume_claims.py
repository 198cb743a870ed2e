"""Claims of volumes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.claim_validation import validate_claim_spec, validate_claim_status
from quarterdeck.server.kinds.claim_warnings import find_claim_warnings
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.volume_fields import (
    UNSET,
    default_phase,
    format_modes,
    get_storage_class,
)
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object


def _default_claim(value: Object) -> None:
    set_defaults(value.setdefault("spec", {}), volumeMode="Filesystem")
    default_phase(value)


def _prepare_claim(value: Object, context: Context) -> None:
    value["status"] = {"phase": "Pending"}
    spec = value["spec"]
    if not has_feature("VolumeAttributesClass"):
        spec.pop("volumeAttributesClassName", None)
    _drop_foreign_source(spec)
    _drop_unknown_source(spec)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is not None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)
    elif source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)


def _drop_foreign_source(spec: Object) -> None:
    """Drop a source in another namespace: its feature is off in every release."""
    if get_mapping(spec, "dataSourceRef").get("namespace"):
        spec.pop("dataSourceRef")


def _drop_unknown_source(spec: Object) -> None:
    """Drop a `dataSource` of an unsupported kind if `dataSourceRef` is not set."""
    if spec.get("dataSourceRef") is None and not _is_known_source(get_mapping(spec, "dataSource")):
        spec.pop("dataSource", None)


def _is_known_source(source: Object) -> bool:
    """Whether `dataSource` supports the kind of a source: a claim or a snapshot."""
    identity = (source.get("apiGroup") or "", source.get("kind"))
    return identity in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )


def _prepare_claim_update(value: Object, old: Object, context: Context) -> None:
    """Drop unknown sources and members of a feature that is off, unless they were there."""
    before = get_mapping(old, "spec")
    if before.get("dataSourceRef") is None:
        _drop_foreign_source(value["spec"])
    if before.get("dataSource") is None and before.get("dataSourceRef") is None:
        _drop_unknown_source(value["spec"])
    if has_feature("VolumeAttributesClass"):
        return
    if not get_mapping(old, "spec").get("volumeAttributesClassName"):
        value["spec"].pop("volumeAttributesClassName", None)
    for member in ("currentVolumeAttributesClassName", "modifyVolumeStatus"):
        if member not in get_mapping(old, "status"):
            get_mapping(value, "status").pop(member, None)


def _validate_claim(value: Object, context: Context) -> Iterator[FieldError]:
    return validate_claim_spec(get_mapping(value, "spec"), "spec")


def _validate_claim_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    if _drop_mutable_fields(spec, value, old) != _drop_mutable_fields(before, value, old):
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


def _drop_mutable_fields(spec: Object, value: Object, old: Object) -> Object:
    """Return a spec without the fields that may change: the volume once, the size if bound."""
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


def _build_claim_cells(value: Object, now: datetime) -> Sequence[object]:
    spec, status = get_mapping(value, "spec"), get_mapping(value, "status")
    bound = bool(spec.get("volumeName"))
    terminating = value["metadata"].get("deletionTimestamp")
    return (
        value["metadata"].get("name", ""),
        "Terminating" if terminating else status.get("phase") or "",
        spec.get("volumeName") or "",
        str(get_field(status, "capacity", "storage") or "0") if bound else "",
        format_modes(get_items(status, "accessModes")) if bound else "",
        get_storage_class(value),
        spec.get("volumeAttributesClassName") or UNSET,
        format_creation_age(value, now),
        spec.get("volumeMode") or UNSET,
    )


PERSISTENT_VOLUME_CLAIM = Rules(
    default=_default_claim,
    prepare_create=_prepare_claim,
    prepare_update=_prepare_claim_update,
    validate=_validate_claim,
    validate_change=_validate_claim_change,
    validate_status=validate_claim_status,
    warn=find_claim_warnings,
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
    cells=_build_claim_cells,
)
