"""Collects results at the end of a run: metrics, verdict, cost, quality gate, storage."""

from quarterdeck.kit import rfc3339
from quarterdeck.kit.redaction import redact
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.ports import Collected, FinishedRun, ResultsUnavailable
from quarterdeck.operators.experiments.results import (
    cost,
    document,
    gate,
    outputs,
    queries,
    summary,
    verdict,
)
from quarterdeck.operators.experiments.results.document import Metric, Metrics, Point
from quarterdeck.operators.experiments.results.ports import (
    FoundStore,
    MetricsStore,
    NodeMetrics,
    ResultStore,
    StoreUnavailable,
    TargetStores,
)
from quarterdeck.operators.experiments.results.survey import (
    HUB,
    Place,
    Survey,
    limit_points,
    with_target,
)
from quarterdeck.operators.experiments.results.window import parse_times

CADVISOR = "target:cadvisor"
PATIENCE_S = 60.0
"""How long after the end of a run a metrics store that does not answer is retried."""


class Collector:
    """Implements the `Results` port of the operator."""

    def __init__(
        self,
        store: ResultStore,
        *,
        hub: MetricsStore | None = None,
        targets: TargetStores | None = None,
        nodes: NodeMetrics | None = None,
    ) -> None:
        self._store = store
        self._hub = hub
        self._targets = targets
        self._nodes = nodes

    async def collect(self, run: FinishedRun) -> Collected:
        """Collect, evaluate and store; sets `retry_after_s` if the gate requires more data."""
        experiment, before = run.experiment, run.experiment.status.iteration_status
        wanted_gate = gate.choose_gate(experiment)
        elapsed_s = (run.now - run.ended_at).total_seconds()
        if wanted_gate is not None and before is not None and before.phase == "Recollecting":
            wait_s = gate.compute_due_in_s(wanted_gate, before, elapsed_s=elapsed_s)
            if wait_s > 0:
                return _wait(run, wait_s)
        metrics = await self._collect_metrics(run, elapsed_s=elapsed_s)
        hypothesis = experiment.spec.hypothesis
        evaluated = (
            verdict.evaluate_hypothesis(hypothesis, metrics.queries)
            if hypothesis is not None
            else None
        )
        found = Collected(
            verdict=evaluated.machine_verdict if evaluated is not None else "",
            cost=cost.estimate(experiment, until=run.ended_at),
        )
        if wanted_gate is not None:
            decision = gate.evaluate(wanted_gate, before, metrics.queries, verdict=found.verdict)
            found = _apply_gate(found, decision)
            if decision.retry_after_s is not None:
                return found
        result = summary.build(run, metrics, evaluated, found)
        return await self._write(run, result, found)

    async def _write(
        self, run: FinishedRun, result: document.Result, found: Collected
    ) -> Collected:
        files = {
            document.SUMMARY: document.encode(result),
            document.SNAPSHOT: document.encode_metrics(result),
        }
        try:
            url = await self._store.write(run.experiment, files)
        except StoreUnavailable as error:
            raise ResultsUnavailable(redact(str(error))) from error
        return found._replace(results_url=url, message=found.message or f"results are in {url}")

    # --- metrics

    async def _collect_metrics(self, run: FinishedRun, *, elapsed_s: float) -> Metrics:
        """Collect the metrics that the workflow reports, and query stores for the others."""
        experiment = run.experiment
        declared = {each.name: each for each in experiment.spec.metrics}
        own = outputs.read(experiment.status, declared)
        window = parse_times(experiment.metadata.creation_timestamp or "", run.ended_at)
        places = await self._find_places(run)
        queried: dict[str, Metric] = {}
        survey = Survey(run, places, window, may_retry=elapsed_s < PATIENCE_S)
        if declared or places:
            for query in queries.list_queries(experiment):
                if query.name not in own:
                    queried[query.name] = await survey.run(query)
        if not declared and not any(metric.data for metric in queried.values()):
            queried |= await self._read_nodes(run)
        names = sorted({metric.source for metric in (*own.values(), *queried.values())} - {""})
        return Metrics(
            collected_at=rfc3339.format_time(run.now),
            source=",".join(names),
            time_range=window.describe(),
            queries={**queried, **own},
        )

    async def _read_nodes(self, run: FinishedRun) -> dict[str, Metric]:
        """Read the default metrics from kubelets, used when no store has any."""
        points: dict[str, list[Point]] = {}
        if self._nodes is not None:
            for target in run.targets:
                if target.kubeconfig is not None:
                    for name, found in (await self._nodes.read(target, now=run.now)).items():
                        points.setdefault(name, []).extend(
                            with_target(each, target.name) for each in found
                        )
        return {
            query.name: Metric(
                type="instant",
                unit=query.unit,
                description=query.description,
                source=CADVISOR,
                data=limit_points(points[query.name]),
            )
            for query in queries.DEFAULTS
            if query.name in points
        }

    async def _find_places(self, run: FinishedRun) -> list[Place]:
        """Find metrics stores: those on targets first, then the hub's."""
        places: list[Place] = []
        for target in run.targets:
            found: FoundStore | None = None
            if self._targets is not None and target.kubeconfig is not None:
                found = await self._targets.find(target)
            if found is not None:
                name = f"target:{target.name}/{found.name}"
                places.append(Place(name, target.name, target.namespace, found.store))
        if self._hub is not None:
            namespaces = {each.namespace for each in run.targets if each.cluster_type != HUB}
            namespace = min(namespaces, default=run.experiment.metadata.namespace)
            places.append(Place(HUB, "", namespace, self._hub))
        return places


def _wait(run: FinishedRun, wait_s: float) -> Collected:
    """Return the last outcome again, because the next collection is not due yet."""
    status = run.experiment.status
    assert status.iteration_status is not None
    return Collected(
        verdict=status.hypothesis_result,
        iteration=status.iteration_status,
        cost=status.cost_estimate,
        message=gate.explain(status.iteration_status),
        retry_after_s=wait_s,
    )


def _apply_gate(found: Collected, decision: gate.Decision) -> Collected:
    message = gate.explain(decision.status)
    return found._replace(
        iteration=decision.status,
        message=message if decision.is_exhausted or decision.retry_after_s is not None else "",
        retry_after_s=decision.retry_after_s,
        failure=str(Reason.QUALITY_GATE_EXHAUSTED) if decision.is_exhausted else "",
    )
