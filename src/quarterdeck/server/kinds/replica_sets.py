"""Replica sets and replication controllers."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.server.kinds import replica_status, validators
from quarterdeck.server.kinds.fields import get_field, get_mapping, set_defaults
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import find_template_warnings
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    build_wide_cells,
    format_scale_selector,
    validate_always_running,
    validate_pod_template,
    validate_selector,
    validate_selector_update,
    validate_template,
)
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Column, Context, Object


def _default_replicas(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    set_defaults(spec, replicas=1)


def _validate_replica_set(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from validators.validate_non_negative("spec.replicas", spec.get("replicas"))
    yield from validators.validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from validate_selector(spec, "spec", "deployment")
    yield from validate_template(spec, "spec")


def _build_replica_cells(value: Object, now: datetime) -> Sequence[object]:
    status = get_mapping(value, "status")
    return (
        value["metadata"].get("name", ""),
        get_field(value, "spec", "replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        format_creation_age(value, now),
        *build_wide_cells(value),
    )


_REPLICA_COLUMNS: tuple[Column, ...] = (
    NAME,
    build_column("Desired", "integer", text="The number of desired replicas."),
    build_column("Current", "integer", text="The number of current replicas."),
    build_column("Ready", "integer", text="The number of ready replicas."),
    AGE,
    CONTAINERS,
    IMAGES,
    build_wide_column("Selector", text="The label selector of the pods that are counted."),
)

REPLICA_SET = Rules(
    validate_status=replica_status.build_status_validator(replica_status.REPLICA_SET),
    validates_twice=True,
    default=_default_replicas,
    validate=_validate_replica_set,
    validate_change=lambda value, old, context: validate_selector_update(value, old),
    warn=find_template_warnings,
    generation_fields=("spec",),
    scales=True,
    scale_selector=format_scale_selector,
    selectable={"status.replicas": "0"},
    columns=_REPLICA_COLUMNS,
    cells=_build_replica_cells,
    status_updates_labels=True,
)


def _default_controller(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, replicas=1)
    if spec.get("template") is not None:
        default_template(spec["template"])
    labels = get_mapping(spec, "template", "metadata", "labels")
    if not spec.get("selector") and labels:
        spec["selector"] = dict(labels)
    if not value["metadata"].get("labels") and labels:
        value["metadata"]["labels"] = dict(labels)


def _validate_controller(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from validators.validate_non_negative("spec.replicas", spec.get("replicas"))
    yield from validators.validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector, template = spec.get("selector"), spec.get("template")
    if not selector:
        yield required("spec.selector")
    if template is None:
        yield required("spec.template")
        return
    labels = get_mapping(template, "metadata", "labels")
    if selector and any(labels.get(key) != each for key, each in selector.items()):
        text = "`selector` does not match template `labels`"
        shown = validators.format_go_map(get_field(spec, "template", "metadata", "labels"))
        yield invalid("spec.template.metadata.labels", shown, text)
    yield from validate_pod_template(template, "spec.template")
    yield from validate_always_running(template, "spec.template", "ReplicationController")


def _build_controller_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    selector = {"matchLabels": spec.get("selector")}
    return _build_replica_cells({**value, "spec": {**spec, "selector": selector}}, now)


REPLICATION_CONTROLLER = Rules(
    validate_status=replica_status.build_status_validator(replica_status.REPLICA_SET),
    validates_twice=True,
    default=_default_controller,
    validate=_validate_controller,
    generation_fields=("spec",),
    scales=True,
    scale_selector=lambda value: validators.format_selector(
        {"matchLabels": get_field(value, "spec", "selector")}
    ),
    selectable={"status.replicas": "0"},
    columns=_REPLICA_COLUMNS,
    cells=_build_controller_cells,
    status_updates_labels=True,
)
