"""Deployments."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import at, fill, mapping
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import template_warnings
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    ROLLING,
    immutable_selector,
    selector_of,
    selector_problems,
    template_problems,
    wide_cells,
)
from quarterdeck.server.registry.printer import AGE, NAME, column, created, wide
from quarterdeck.server.registry.resource import Context, Object


def _default_deployment(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING
    if strategy["type"] == ROLLING:
        fill(strategy, rollingUpdate={})
        fill(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")


def _deployment_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from validators.non_negative("spec.replicas", spec.get("replicas"))
    yield from selector_problems(spec, "spec", "deployment")
    yield from template_problems(spec, "spec")
    yield from _strategy_problems(mapping(spec, "strategy"), "spec.strategy")
    yield from validators.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from validators.non_negative(
        "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit")
    )
    deadline = spec.get("progressDeadlineSeconds")
    yield from validators.non_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, text)


def _strategy_problems(strategy: Object, path: str) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                text = "may not be specified when strategy `type` is 'Recreate'"
                yield forbidden(f"{path}.rollingUpdate", text)
        case "RollingUpdate":
            if rolling is None:
                text = "this should be defaulted and never be nil"
                yield required(f"{path}.rollingUpdate", text)
            else:
                yield from _rolling_problems(rolling, f"{path}.rollingUpdate")
        case other:
            yield not_supported(f"{path}.type", other or "", ("Recreate", ROLLING))


def _rolling_problems(rolling: Object, path: str) -> Iterator[FieldError]:
    down, up = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    yield from validators.percent_or_number(f"{path}.maxUnavailable", down)
    yield from validators.percent_or_number(f"{path}.maxSurge", up)
    if not validators.is_some(down) and not validators.is_some(up):
        text = "may not be 0 when `maxSurge` is 0"
        yield invalid(f"{path}.maxUnavailable", validators.int_or_string(down), text)
    yield from validators.at_most_all(f"{path}.maxUnavailable", down)


def _deployment_cells(value: Object, now: datetime) -> Sequence[object]:
    status = mapping(value, "status")
    return (
        value["metadata"].get("name", ""),
        f"{status.get('readyReplicas') or 0}/{at(value, 'spec', 'replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        created(value, now),
        *wide_cells(value),
    )


DEPLOYMENT = Rules(
    default=_default_deployment,
    validate=_deployment_problems,
    validate_change=lambda value, old, context: immutable_selector(value, old),
    warn=template_warnings,
    counted=("spec",),
    counts_annotations=True,
    scales=True,
    scale_selector=selector_of,
    columns=(
        NAME,
        column("Ready", text="Number of the pod with ready state"),
        column(
            "Up-to-date",
            text=(
                "Total number of non-terminated pods targeted by this deployment that have the"
                " desired template spec."
            ),
        ),
        column(
            "Available",
            text=(
                "Total number of available pods (ready for at least minReadySeconds) targeted by"
                " this deployment."
            ),
        ),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(
            "Selector",
            text=(
                "Label selector for pods. Existing ReplicaSets whose pods are selected by this will"
                " be the ones affected by this deployment."
            ),
        ),
    ),
    cells=_deployment_cells,
)
