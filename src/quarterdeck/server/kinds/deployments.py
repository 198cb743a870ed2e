"""Deployments."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import replica_status, validators
from quarterdeck.server.kinds.fields import get_field, get_mapping, set_defaults
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import find_template_warnings
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    ROLLING,
    build_wide_cells,
    format_scale_selector,
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
from quarterdeck.server.registry.resource import Context, Object


def _default_deployment(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    set_defaults(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING
    if strategy["type"] == ROLLING:
        set_defaults(strategy, rollingUpdate={})
        set_defaults(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")


def _validate_deployment(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from validators.validate_non_negative("spec.replicas", spec.get("replicas"))
    yield from validate_selector(spec, "spec", "deployment")
    yield from validate_template(spec, "spec")
    yield from _validate_strategy(get_mapping(spec, "strategy"), "spec.strategy")
    yield from validators.validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from validators.validate_non_negative(
        "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit")
    )
    deadline = spec.get("progressDeadlineSeconds")
    yield from validators.validate_non_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, text)


def _validate_strategy(strategy: Object, path: str) -> Iterator[FieldError]:
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
                yield from _validate_rolling(rolling, f"{path}.rollingUpdate")
        case _:
            shown = validators.format_go_strategy(
                strategy, "DeploymentStrategy", "RollingUpdateDeployment"
            )
            yield not_supported(path, shown, ("Recreate", ROLLING))


def _validate_rolling(rolling: Object, path: str) -> Iterator[FieldError]:
    down, up = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    yield from validators.validate_percent_or_number(f"{path}.maxUnavailable", down)
    yield from validators.validate_percent_or_number(f"{path}.maxSurge", up)
    if not validators.is_nonzero(down) and not validators.is_nonzero(up):
        text = "may not be 0 when `maxSurge` is 0"
        yield invalid(f"{path}.maxUnavailable", validators.format_int_or_string(down), text)
    yield from validators.validate_percent_limit(f"{path}.maxUnavailable", down)


def _build_deployment_cells(value: Object, now: datetime) -> Sequence[object]:
    status = get_mapping(value, "status")
    return (
        value["metadata"].get("name", ""),
        f"{status.get('readyReplicas') or 0}/{get_field(value, 'spec', 'replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        format_creation_age(value, now),
        *build_wide_cells(value),
    )


DEPLOYMENT = Rules(
    validate_status=replica_status.build_status_validator(replica_status.DEPLOYMENT),
    default=_default_deployment,
    validate=_validate_deployment,
    validate_change=lambda value, old, context: validate_selector_update(value, old),
    warn=find_template_warnings,
    generation_fields=("spec",),
    annotations_bump_generation=True,
    scales=True,
    scale_selector=format_scale_selector,
    columns=(
        NAME,
        build_column("Ready", text="Number of the pod with ready state"),
        build_column(
            "Up-to-date",
            text=(
                "Total number of non-terminated pods targeted by this deployment that have the"
                " desired template spec."
            ),
        ),
        build_column(
            "Available",
            text=(
                "Total number of available pods (ready for at least minReadySeconds) targeted by"
                " this deployment."
            ),
        ),
        AGE,
        CONTAINERS,
        IMAGES,
        build_wide_column(
            "Selector",
            text=(
                "Label selector for pods. Existing ReplicaSets whose pods are selected by this will"
                " be the ones affected by this deployment."
            ),
        ),
    ),
    cells=_build_deployment_cells,
)
