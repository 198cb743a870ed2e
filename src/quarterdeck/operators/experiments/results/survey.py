"""Queries the metrics stores of a run in one collection."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quarterdeck.apis.experiments.workflow import MetricsQuery
from quarterdeck.kit.redaction import redact
from quarterdeck.operators.experiments.ports import FinishedRun, ResultsUnavailable
from quarterdeck.operators.experiments.results import queries
from quarterdeck.operators.experiments.results.document import Metric, Point
from quarterdeck.operators.experiments.results.ports import MetricsStore, MetricsUnavailable
from quarterdeck.operators.experiments.results.prometheus import QueryError
from quarterdeck.operators.experiments.results.window import (
    Window,
    compute_query_duration_s,
    format_duration,
)

HUB = "hub"
MAX_POINTS = 2000
"""Points kept per metric; more are thinned out evenly."""


class Place(NamedTuple):
    """A store that may have a run's metrics."""

    name: str
    target: str
    namespace: str
    store: MetricsStore


class Survey:
    """Queries stores; a store that does not answer is skipped for the rest of the collection."""

    def __init__(
        self, run: FinishedRun, places: Sequence[Place], window: Window, *, may_retry: bool
    ) -> None:
        self._run = run
        self._places = places
        self._window = window
        self._may_retry = may_retry
        self._silent: dict[str, str] = {}
        before = run.experiment.status.iteration_status
        done = before.current_iteration if before is not None else 0
        self._duration = format_duration(compute_query_duration_s(window.seconds, done))

    async def run(self, query: MetricsQuery) -> Metric:
        """Query the stores of all targets, and the hub's only if they have no points.

        Raises:
            ResultsUnavailable: if a store does not answer and it is early enough to try again.
        """
        found, names, errors = list[Point](), list[str](), list[str]()
        places = self._places
        if not self._window.is_long_enough:
            errors.append(f"the run lasted {self._window.seconds:.0f} s, too short for metrics")
            places = ()
        for place in places:
            if place.name == HUB and found:
                break
            try:
                points = await self._query_place(query, place)
            except (QueryError, MetricsUnavailable) as error:
                errors.append(f"{place.name}: {error}")
            else:
                found += points
                names += [place.name] if points else []
        return Metric(
            query=query.query,
            type=query.type,
            unit=query.unit,
            description=query.description,
            group=query.group,
            source=",".join(names),
            error="" if found else redact("; ".join(errors)),
            data=limit_points(found),
        )

    async def _query_place(self, query: MetricsQuery, place: Place) -> list[Point]:
        if (message := self._silent.get(place.name)) is not None:
            raise MetricsUnavailable(message)
        text = queries.expand(
            query.query,
            experiment=self._run.experiment.metadata.name,
            namespace=place.namespace,
            duration=self._duration,
        )
        try:
            points = await place.store.query(text, self._window, is_range=query.type == "range")
        except MetricsUnavailable as error:
            if self._may_retry:
                raise ResultsUnavailable(redact(str(error))) from error
            self._silent[place.name] = str(error)
            raise
        return [with_target(each, place.target) for each in points]


def limit_points(points: Sequence[Point]) -> tuple[Point, ...]:
    """At most `MAX_POINTS` points, taken evenly."""
    if len(points) <= MAX_POINTS:
        return tuple(points)
    return tuple(points[index * len(points) // MAX_POINTS] for index in range(MAX_POINTS))


def with_target(point: Point, target: str) -> Point:
    """Add the target to a point."""
    if not target:
        return point
    labels: Mapping[str, str] = {**point.labels, "target": target}
    return Point(value=point.value, timestamp=point.timestamp, labels=labels)
