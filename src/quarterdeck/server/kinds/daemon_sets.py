"""Daemon sets, and the revisions that they and stateful sets keep."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.digits import parse_digits
from quarterdeck.meta.field import FieldError, invalid, not_supported, required
from quarterdeck.server.kinds import replica_status, validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import find_template_warnings
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    ROLLING,
    build_wide_cells,
    format_selector,
    is_invalid_selector,
    validate_always_running,
    validate_pod_template,
    validate_selector,
    validate_selector_update,
    validate_template_labels,
)
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Column, Context, Object

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _default_daemon_set(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING
    if strategy["type"] == ROLLING:
        set_defaults(strategy, rollingUpdate={})
        set_defaults(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    set_defaults(spec, revisionHistoryLimit=10)
    annotations = value["metadata"].get("annotations") or {}
    # set as a default, so that the client owns the annotation; the server sets the count later
    value["metadata"]["annotations"] = {_TEMPLATE_GENERATION: "0", **annotations}


def _count_template(value: Object, generation: int) -> None:
    annotations = value["metadata"].setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(generation)


def _prepare_daemon_set_update(value: Object, old: Object, context: Context) -> None:
    if context.subresource:
        return
    before = get_mapping(old, "metadata", "annotations").get(_TEMPLATE_GENERATION, "0")
    generation = parse_digits(before) or 0
    changed = get_field(value, "spec", "template") != get_field(old, "spec", "template")
    _count_template(value, generation + changed)


def _validate_daemon_set(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    selector, template = spec.get("selector"), get_mapping(spec, "template")
    if selector is not None:
        yield from validate_selector(spec, "spec", "daemonset")
    if not is_invalid_selector(selector):
        yield from validate_template_labels(spec, "spec", may_select_all=False)
    yield from validate_pod_template(template, "spec.template")
    yield from validate_always_running(template, "spec.template", "DaemonSet")
    strategy = get_mapping(spec, "updateStrategy")
    if strategy.get("type") not in ("OnDelete", ROLLING):
        choices = ("RollingUpdate", "OnDelete")
        shown = validators.format_go_strategy(
            strategy, "DaemonSetUpdateStrategy", "RollingUpdateDaemonSet"
        )
        yield not_supported("spec.updateStrategy", shown, choices)
    elif strategy["type"] == ROLLING:
        rolling = get_mapping(strategy, "rollingUpdate")
        yield from _validate_rolling(rolling, "spec.updateStrategy.rollingUpdate")
    yield from validators.validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from validators.validate_non_negative(
        "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit")
    )


def _validate_rolling(rolling: Object, path: str) -> Iterator[FieldError]:
    """Check the rolling update: exactly one of maxUnavailable and maxSurge must be nonzero."""
    places = {member: f"{path}.{member}" for member in ("maxUnavailable", "maxSurge")}
    for member, place in places.items():
        yield from validators.validate_percent_or_number(place, rolling.get(member))
    down, up = (validators.is_nonzero(rolling.get(member)) for member in places)
    if down and up:
        text = "may not be set when maxUnavailable is non-zero"
        yield invalid(
            places["maxSurge"], validators.format_int_or_string(rolling["maxSurge"]), text
        )
    elif not down and not up:
        yield required(places["maxUnavailable"], "cannot be 0 when maxSurge is 0")
    for member, place in places.items():
        yield from validators.validate_percent_limit(place, rolling.get(member))


def _build_daemon_set_cells(value: Object, now: datetime) -> Sequence[object]:
    status = get_mapping(value, "status")
    numbers = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    nodes = get_mapping(value, "spec", "template", "spec", "nodeSelector")
    return (
        value["metadata"].get("name", ""),
        *(status.get(member) or 0 for member in numbers),
        format_selector({"matchLabels": nodes}),
        format_creation_age(value, now),
        *build_wide_cells(value),
    )


def _build_integer_column(name: str) -> Column:
    return build_column(name, "integer")


DAEMON_SET = Rules(
    validate_status=replica_status.build_status_validator(replica_status.DAEMON_SET),
    validates_twice=True,
    default=_default_daemon_set,
    prepare_create=lambda value, context: _count_template(value, 1),
    prepare_update=_prepare_daemon_set_update,
    validate=_validate_daemon_set,
    validate_change=lambda value, old, context: validate_selector_update(value, old),
    warn=find_template_warnings,
    generation_fields=("spec",),
    columns=(
        NAME,
        *map(_build_integer_column, ("Desired", "Current", "Ready", "Up-to-date", "Available")),
        build_column("Node Selector"),
        AGE,
        CONTAINERS,
        IMAGES,
        build_wide_column("Selector"),
    ),
    cells=_build_daemon_set_cells,
    status_updates_labels=True,
)


def _build_revision_cells(value: Object, now: datetime) -> Sequence[object]:
    owner = next(
        (
            each
            for each in get_items(value, "metadata", "ownerReferences")
            if each.get("controller")
        ),
        None,
    )
    group = (owner or {}).get("apiVersion", "").rpartition("/")[0]
    kind = (owner or {}).get("kind", "").lower()
    shown = f"{kind}{'.' + group if group else ''}/{owner['name']}" if owner else NONE
    return (
        value["metadata"].get("name", ""),
        shown,
        value.get("revision") or 0,
        format_creation_age(value, now),
    )


def _validate_revision(value: Object, context: Context) -> Iterator[FieldError]:
    yield from validators.validate_non_negative("revision", value.get("revision"))
    if value.get("data") is None:
        yield required("data", "data is mandatory")


CONTROLLER_REVISION = Rules(
    validate=_validate_revision,
    columns=(NAME, build_column("Controller"), build_column("Revision"), AGE),
    cells=_build_revision_cells,
)
