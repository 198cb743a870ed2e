"""Daemon sets, and the revisions that they and stateful sets keep."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import at, fill, items, mapping
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import template_warnings
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    ROLLING,
    immutable_selector,
    selector_problems,
    shown_selector,
    template_problems,
    wide_cells,
)
from quarterdeck.server.registry.printer import AGE, NAME, NONE, column, created, wide
from quarterdeck.server.registry.resource import Column, Context, Object

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _default_daemon_set(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING
    if strategy["type"] == ROLLING:
        fill(strategy, rollingUpdate={})
        fill(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    fill(spec, revisionHistoryLimit=10)
    annotations = value["metadata"].get("annotations") or {}
    # the count itself is the server's business; whoever writes the object owns the annotation
    value["metadata"]["annotations"] = {_TEMPLATE_GENERATION: "0", **annotations}


def _count_template(value: Object, generation: int) -> None:
    annotations = value["metadata"].setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(generation)


def _daemon_set_update(value: Object, old: Object, context: Context) -> None:
    if context.subresource:
        return
    before = mapping(old, "metadata", "annotations").get(_TEMPLATE_GENERATION, "0")
    generation = int(before) if before.isdigit() else 0
    changed = at(value, "spec", "template") != at(old, "spec", "template")
    _count_template(value, generation + changed)


def _daemon_set_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from selector_problems(spec, "spec", "daemonset")
    yield from template_problems(spec, "spec")
    strategy = mapping(spec, "updateStrategy")
    if strategy.get("type") not in ("OnDelete", ROLLING):
        choices = ("RollingUpdate", "OnDelete")
        yield not_supported("spec.updateStrategy.type", strategy.get("type") or "", choices)
    elif strategy["type"] == ROLLING:
        rolling = mapping(strategy, "rollingUpdate")
        yield from _rolling_problems(rolling, "spec.updateStrategy.rollingUpdate")
    yield from validators.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from validators.non_negative(
        "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit")
    )


def _rolling_problems(rolling: Object, path: str) -> Iterator[FieldError]:
    """A pod is replaced before or after its end, and one of the two it must be."""
    places = {member: f"{path}.{member}" for member in ("maxUnavailable", "maxSurge")}
    for member, place in places.items():
        yield from validators.percent_or_number(place, rolling.get(member))
    down, up = (validators.is_some(rolling.get(member)) for member in places)
    if down and up:
        text = "may not be set when maxUnavailable is non-zero"
        yield invalid(places["maxSurge"], validators.int_or_string(rolling["maxSurge"]), text)
    elif not down and not up:
        yield required(places["maxUnavailable"], "cannot be 0 when maxSurge is 0")
    for member, place in places.items():
        yield from validators.at_most_all(place, rolling.get(member))


def _daemon_set_cells(value: Object, now: datetime) -> Sequence[object]:
    status = mapping(value, "status")
    numbers = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    nodes = mapping(value, "spec", "template", "spec", "nodeSelector")
    return (
        value["metadata"].get("name", ""),
        *(status.get(member) or 0 for member in numbers),
        shown_selector({"matchLabels": nodes}),
        created(value, now),
        *wide_cells(value),
    )


def _integer(name: str) -> Column:
    return column(name, "integer")


DAEMON_SET = Rules(
    default=_default_daemon_set,
    prepare_create=lambda value, context: _count_template(value, 1),
    prepare_update=_daemon_set_update,
    validate=_daemon_set_problems,
    validate_change=lambda value, old, context: immutable_selector(value, old),
    warn=template_warnings,
    counted=("spec",),
    columns=(
        NAME,
        *map(_integer, ("Desired", "Current", "Ready", "Up-to-date", "Available")),
        column("Node Selector"),
        AGE,
        CONTAINERS,
        IMAGES,
        wide("Selector"),
    ),
    cells=_daemon_set_cells,
)


def _revision_cells(value: Object, now: datetime) -> Sequence[object]:
    owner = next(
        (each for each in items(value, "metadata", "ownerReferences") if each.get("controller")),
        None,
    )
    group = (owner or {}).get("apiVersion", "").rpartition("/")[0]
    kind = (owner or {}).get("kind", "").lower()
    shown = f"{kind}{'.' + group if group else ''}/{owner['name']}" if owner else NONE
    return (
        value["metadata"].get("name", ""),
        shown,
        value.get("revision") or 0,
        created(value, now),
    )


CONTROLLER_REVISION = Rules(
    columns=(NAME, column("Controller"), column("Revision"), AGE),
    cells=_revision_cells,
)
