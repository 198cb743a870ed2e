"""The status of a MetricSource; the only module that sets it."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

import msgspec

from quarterdeck import engine
from quarterdeck.apis.clusterpulse.metric_source import FieldValidation, MetricSource
from quarterdeck.engine.results import CollectionMeta
from quarterdeck.hubstate.collect.source import SourceResult
from quarterdeck.inventory.policy import BUILT_IN_TYPES
from quarterdeck.kit import rfc3339
from quarterdeck.kit.plural import format_count
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.clusters.conditions import READY, Reason
from quarterdeck.runtime import Context, Stalled, Waiting

_NEVER = float("inf")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the last collection from one cluster went."""

    resources: int = 0
    errors: int = 0
    problem: str = ""
    due_at: float
    """When the next one is due, on the monotonic clock."""
    at: datetime | None = None
    """When the newest reading was made; None if there is none."""
    result: SourceResult | None = None
    """The result of the hub's own collection, without rows, for the validation of fields."""

    @property
    def is_foreign(self) -> bool:
        """Whether another replica or a collector collects; once it stops, this replica is due."""
        return self.due_at == _NEVER


def set_source_status(
    source: MetricSource,
    outcomes: Collection[Outcome],
    ctx: Context[MetricSource],
    *,
    took_s: float,
    others: Collection[MetricSource] = (),
) -> None:
    """Set status and conditions after a collection; `others` are all sources of the hub."""
    errors = sum(each.errors for each in outcomes)
    results = [each.result for each in outcomes if each.result is not None]
    times = [each.at for each in outcomes if each.at is not None]
    problem = _join_problems([each.problem for each in outcomes if each.problem])
    before = source.status
    resources = sum(each.resources for each in outcomes)
    ctx.status.set(
        phase="Active",
        resources_collected=resources,
        clusters_collected=len(times),
        errors_last_run=errors,
        message=f"Collected with {errors} errors" if errors else "Collection successful",
        field_validation=(
            *engine.validate_fields(source.spec, results),
            *_check_type(source, others),
        ),
    )
    reason = Reason.PARTIAL if errors else Reason.COLLECTED
    text = problem or f"read {format_count(len(times), 'cluster')}"
    ctx.status.set_condition(READY, TRUE if times or not errors else FALSE, reason, text)
    newest = max(times, default=None)
    if newest is not None and (ctx.status.current != before or _is_older(before, newest)):
        ctx.status.set(
            last_collection_time=rfc3339.format_time(newest),
            last_collection_duration=f"{round(took_s * 1000)}ms",
        )
    if errors and not before.errors_last_run:
        ctx.event(Reason.PARTIAL, problem, warning=True)


def _join_problems(problems: Sequence[str]) -> str:
    """The first problem, and the number of other clusters with a problem."""
    if len(problems) < 2:
        return "".join(problems)
    more = len(problems) - 1
    return f"{problems[0]} (and {more} more cluster{'' if more == 1 else 's'})"


def _check_type(
    source: MetricSource, others: Collection[MetricSource]
) -> Iterator[FieldValidation]:
    """A warning if resourceTypeName is also a built-in type, or the type of another source."""
    name = source.spec.rbac.resource_type_name
    if not name:
        return
    same = sorted(
        str(each.key)
        for each in others
        if each.spec.rbac.resource_type_name == name and each.key != source.key
    )
    text = ""
    if name in BUILT_IN_TYPES:
        text = f"{name!r} is a built-in type: rules of policies apply to both"
    elif same:
        text = f"{', '.join(same)} has {name!r} too, and the hub API shows one of them"
    if text:
        message = f"{text}; choose another name"
        yield FieldValidation(field="rbac.resourceTypeName", status="warning", message=message)


def read_outcome(data: bytes) -> Outcome:
    """Decode the stored outcome of a collection by another replica or by a collector."""
    try:
        return build_outcome(msgspec.json.decode(data, type=CollectionMeta))
    except (msgspec.DecodeError, ValueError):
        return Outcome(due_at=_NEVER)


def build_outcome(meta: CollectionMeta) -> Outcome:
    """Build the outcome of a collection by another replica or by a collector.

    Raises:
        ValueError: if its time cannot be read.
    """
    problem = f"{meta.cluster_name}: {meta.last_error}" if meta.last_error else ""
    if meta.error_count and not meta.resource_count:
        return Outcome(errors=meta.error_count, problem=problem, due_at=_NEVER)
    return Outcome(
        resources=meta.resource_count,
        errors=meta.error_count,
        problem=problem,
        due_at=_NEVER,
        at=rfc3339.parse(meta.last_collection_time),
    )


def _is_older(before: object, newest: datetime) -> bool:
    """Whether the time in the status is missing, or at least a minute older than the newest.

    So is one that is ahead of it, because the clock was set back.
    """
    text = getattr(before, "last_collection_time", "")
    return not text or abs((newest - rfc3339.parse(text)).total_seconds()) >= 60


def report_error(ctx: Context[MetricSource], error: Exception) -> None:
    """Report why a source cannot be collected at all."""
    if ctx.status.is_discarded:
        return
    reason, message = str(Reason.ERROR), str(error)
    if isinstance(error, Stalled | Waiting):
        reason, message = error.reason, error.message
    ctx.status.set(phase="Error", message=message)
    ctx.status.set_condition(READY, FALSE, reason, message)
    before, _ = ctx.status.get_transition(READY)
    if before is None or (before.reason, before.message) != (reason, message):
        ctx.event(reason, message, warning=True)
