"""What the spec of a claim must be like, also in a template inside of a pod."""

from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.server.kinds import features, validators
from quarterdeck.server.kinds.fields import get_field, get_items
from quarterdeck.server.kinds.volume_fields import (
    validate_class_name,
    validate_modes,
    validate_positive,
)
from quarterdeck.server.registry.resource import Object


def validate_claim_spec(spec: Object, path: str) -> Iterator[FieldError]:
    """Check a claim; `path` is the field its spec is in."""
    modes = get_items(spec, "accessModes")
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_modes(modes, f"{path}.accessModes")
    storage = get_field(spec, "resources", "requests", "storage")
    if storage is None:
        yield required(f"{path}.resources[storage]")
    else:
        yield from validate_positive(f"{path}.resources[storage]", storage)
    yield from validators.validate_label_selector(f"{path}.selector", spec.get("selector"))
    yield from validate_class_name(spec, path)
    if features.is_on("VolumeAttributesClass"):
        yield from validate_class_name(spec, path, "volumeAttributesClassName")
    yield from validators.validate_enum(
        f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )
    for member in ("dataSource", "dataSourceRef"):
        if (source := spec.get(member)) is not None:
            yield from _validate_data_source(source, f"{path}.{member}")


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
