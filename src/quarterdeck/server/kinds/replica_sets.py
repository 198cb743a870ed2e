"""Replica sets, and replication controllers before them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import at, fill, mapping
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import template_warnings
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    immutable_selector,
    pod_template_problems,
    selector_of,
    selector_problems,
    template_problems,
    wide_cells,
)
from quarterdeck.server.registry.printer import AGE, NAME, column, created, wide
from quarterdeck.server.registry.resource import Column, Context, Object


def _default_replicas(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    fill(spec, replicas=1)


def _replica_set_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from validators.non_negative("spec.replicas", spec.get("replicas"))
    yield from validators.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from selector_problems(spec, "spec", "replicaset")
    yield from template_problems(spec, "spec")


def _replica_cells(value: Object, now: datetime) -> Sequence[object]:
    status = mapping(value, "status")
    return (
        value["metadata"].get("name", ""),
        at(value, "spec", "replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        created(value, now),
        *wide_cells(value),
    )


_REPLICA_COLUMNS: tuple[Column, ...] = (
    NAME,
    column("Desired", "integer", text="The number of replicas that are wanted."),
    column("Current", "integer", text="The number of replicas that were observed."),
    column("Ready", "integer", text="The number of replicas that are ready."),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", text="Which pods are counted."),
)

REPLICA_SET = Rules(
    default=_default_replicas,
    validate=_replica_set_problems,
    validate_change=lambda value, old, context: immutable_selector(value, old),
    warn=template_warnings,
    counted=("spec",),
    scales=True,
    scale_selector=selector_of,
    selectable={"status.replicas": "0"},
    columns=_REPLICA_COLUMNS,
    cells=_replica_cells,
)


def _default_controller(value: Object) -> None:
    _default_replicas(value)
    spec = value["spec"]
    labels = mapping(spec, "template", "metadata", "labels")
    if not spec.get("selector") and labels:
        spec["selector"] = dict(labels)
    if not value["metadata"].get("labels") and labels:
        value["metadata"]["labels"] = dict(labels)


def _controller_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from validators.non_negative("spec.replicas", spec.get("replicas"))
    selector = spec.get("selector")
    if not selector:
        yield required("spec.selector")
    labels = mapping(spec, "template", "metadata", "labels")
    if selector and any(labels.get(key) != each for key, each in selector.items()):
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", validators.go_string_map(labels), text)
    yield from pod_template_problems(mapping(spec, "template"), "spec.template")


def _controller_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    selector = {"matchLabels": spec.get("selector")}
    return _replica_cells({**value, "spec": {**spec, "selector": selector}}, now)


REPLICATION_CONTROLLER = Rules(
    default=_default_controller,
    validate=_controller_problems,
    counted=("spec",),
    scales=True,
    scale_selector=lambda value: validators.selector_text(
        {"matchLabels": at(value, "spec", "selector")}
    ),
    selectable={"status.replicas": "0"},
    columns=_REPLICA_COLUMNS,
    cells=_controller_cells,
)
