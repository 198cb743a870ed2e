"""Validation of PersistentVolumeClaims, also of templates inside of a pod."""

from collections.abc import Iterator

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, invalid, not_supported, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.volume_fields import (
    validate_class_name,
    validate_modes,
    validate_positive,
)
from quarterdeck.server.registry.resource import Context, Object

_RESIZE_STEPS = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress"),
    *("NodeResizeInfeasible", "NodeResizePending"),
)


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
    if has_feature("VolumeAttributesClass"):
        yield from validate_class_name(spec, path, "volumeAttributesClassName")
    yield from validators.validate_enum(
        f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )
    for member in ("dataSource", "dataSourceRef"):
        if (source := spec.get(member)) is not None:
            yield from _validate_data_source(source, f"{path}.{member}")
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is not None and not _is_same(source, reference):
        pointer = f"(*field.Path)({validators.GO_POINTER})"
        shown = Bare(f'field.Path{{name:"dataSource", index:"", parent:{pointer}}}')
        yield invalid(path, shown, "must match dataSourceRef")


def _is_same(source: Object, reference: Object) -> bool:
    members = ("apiGroup", "kind", "name")
    return all((source.get(name) or "") == (reference.get(name) or "") for name in members)


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


# status ------------------------------------------------------------------------------------------


def validate_claim_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check the status of a claim: capacity, allocated resources, and the state of a resize."""
    status = get_mapping(value, "status")
    for name, amount in sorted(get_mapping(status, "capacity").items()):
        yield from _validate_amount(amount, f"status.capacity[{name}]")
    path = "status.allocatedResourceStatus"
    for name, step in sorted(get_mapping(status, "allocatedResourceStatuses").items()):
        yield from _validate_resource_name(name, path)
        if step not in _RESIZE_STEPS:
            yield not_supported(path, Bare(name), _RESIZE_STEPS)
    path = "status.allocatedResources"
    for name, amount in sorted(get_mapping(status, "allocatedResources").items()):
        problems = [*_validate_resource_name(name, path)]
        yield from problems or _validate_amount(amount, f"{path}[{name}]")


def _validate_amount(amount: object, path: str) -> Iterator[FieldError]:
    parsed = Quantity.parse(str(amount))
    if parsed.sign() < 0:
        yield invalid(path, parsed.as_int(), "must be a valid resource quantity")


def _validate_resource_name(name: str, path: str) -> Iterator[FieldError]:
    problems = names.check_qualified_name(name)
    yield from (invalid(path, name, problem) for problem in problems)
    is_native = "/" not in name or "kubernetes.io/" in name
    if not problems and is_native and name != "storage":
        yield not_supported(path, name, ("storage",))
