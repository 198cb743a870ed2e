"""Metrics that workflows report themselves, as output parameters called `metric-<name>`. Pure.

`metric.<name>` means the same, but Argo Workflows itself refuses names with dots. A number is one
value; a JSON list of numbers is several. With `spec.repeats` every run of the workflow adds its
values, which is what makes two experiments comparable.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from quarterdeck.apis.experiments.status import ExperimentStatus, WorkflowStatus
from quarterdeck.apis.experiments.workflow import MetricsQuery
from quarterdeck.operators.experiments.results.document import Metric, Point

PREFIXES = ("metric-", "metric.")
SOURCE = "workflow"


def list_runs(status: ExperimentStatus) -> Sequence[WorkflowStatus]:
    """List the runs of the workflow that succeeded, and the last one, in order."""
    last = status.workflow_status
    found = [each for each in status.runs if each.phase == "Succeeded"]
    if last is not None and all(each.name != last.name for each in found):
        found.append(last)
    return found


def read(
    status: ExperimentStatus, declared: Mapping[str, MetricsQuery] | None = None
) -> dict[str, Metric]:
    """The metrics of all runs, by name."""
    points: dict[str, list[Point]] = {}
    for run in list_runs(status):
        for name, value in _list_values(run):
            point = Point(value=value, timestamp=run.finished_at, labels={"workflow": run.name})
            points.setdefault(name, []).append(point)
    return {name: _build_metric(name, found, declared or {}) for name, found in points.items()}


def _build_metric(name: str, points: list[Point], declared: Mapping[str, MetricsQuery]) -> Metric:
    query = declared.get(name)
    return Metric(
        unit=query.unit if query is not None else "",
        description=query.description if query is not None else "",
        group=query.group if query is not None else "",
        source=SOURCE,
        data=tuple(points),
    )


def _list_values(run: WorkflowStatus) -> Iterator[tuple[str, float]]:
    for parameter, text in sorted(run.outputs.items()):
        if name := find_metric_name(parameter):
            for value in parse(text):
                yield name, value


def find_metric_name(parameter: str) -> str:
    """The metric that an output parameter reports; empty if it reports none."""
    prefix = next((each for each in PREFIXES if parameter.startswith(each)), None)
    return parameter.removeprefix(prefix) if prefix is not None else ""


def parse(text: str) -> list[float]:
    """Parse the finite numbers of an output parameter; empty if it has none."""
    try:
        found = msgspec.json.decode(text.strip() or "null", type=float | list[float])
    except msgspec.DecodeError:
        try:
            found = float(text)
        except ValueError:
            return []
    values = found if isinstance(found, list) else [found]
    return [value for value in values if math.isfinite(value)]
