"""Verdicts, the quality gate, cost, windows, queries and answers of Prometheus."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.experiments.status import IterationStatus, TargetStatus
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.apis.experiments.workflow import Hypothesis, QualityGate, SuccessCriterion
from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments.results import cost, gate, outputs, queries, verdict, window
from quarterdeck.operators.experiments.results.discovery import find_candidates, guess_port
from quarterdeck.operators.experiments.results.document import Metric, Point
from quarterdeck.operators.experiments.results.prometheus import QueryError, parse

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def metric(*values: float) -> Metric:
    return Metric(data=tuple(Point(value=value) for value in values))


def hypothesis(operator: str = "lt", value: str = "0.5") -> Hypothesis:
    criterion = msgspec.convert(
        {"metric": "p99", "operator": operator, "value": value}, SuccessCriterion
    )
    return Hypothesis(claim="it is fast", success_criteria=(criterion,))


def experiment(**spec: object) -> Experiment:
    return msgspec.convert(
        {
            "metadata": {"name": "demo", "namespace": "experiments"},
            "spec": {
                "targets": [{"name": "app", "cluster": {"type": "gke"}}],
                "workflow": {"template": "t", "completion": {"mode": "workflow"}},
                **spec,
            },
        },
        Experiment,
    )


@pytest.mark.parametrize(
    ("operator", "bound", "values", "expected"),
    [
        pytest.param("lt", "0.5", [0.4], "validated", id="below the bound"),
        pytest.param("lt", "0.5", [0.6], "invalidated", id="above the bound"),
        pytest.param("lt", "0.5", [], "insufficient", id="no data"),
        pytest.param("gte", "2", [1, 3], "validated", id="mean of a range"),
        pytest.param("lt", "0.5", [float("nan")], "insufficient", id="only NaN"),
        pytest.param("gt", "1e308", [1.7e308] * 3, "validated", id="sum too large"),
        pytest.param("lte", "1", [1], "validated", id="equal"),
        pytest.param("gt", "1", [1], "invalidated", id="not greater"),
    ],
)
def test_a_criterion_gives_its_verdict(
    operator: str, bound: str, values: list[float], expected: str
) -> None:
    evaluated = verdict.evaluate_hypothesis(hypothesis(operator, bound), {"p99": metric(*values)})
    assert evaluated.machine_verdict == expected


def test_a_metric_that_nobody_collected_is_insufficient() -> None:
    evaluated = verdict.evaluate_hypothesis(hypothesis(), {})
    assert evaluated.machine_verdict == "insufficient"
    assert evaluated.success_criteria[0].passed is None


@given(st.lists(st.sampled_from([True, False, None]), max_size=8))
def test_verdicts_combine(outcomes: list[bool | None]) -> None:
    found = verdict.combine(outcomes)
    assert (found == "") == (not outcomes)
    assert (found == "invalidated") == (False in outcomes)
    assert (found == "validated") == (bool(outcomes) and all(each is True for each in outcomes))
    assert verdict.combine(list(reversed(outcomes))) == found


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.5, "0s"),
        (45, "45s"),
        (900, "15m"),
        (7200, "2h"),
        (9000, "2h30m"),
        (3910, "1h5m10s"),
        (-900, "15m"),
    ],
)
def test_durations_are_written_as_promql(seconds: float, text: str) -> None:
    assert window.format_duration(seconds) == text


def test_steps_grow_with_the_window() -> None:
    assert [window.compute_step_s(each) for each in (299, 300, 3599, 3600)] == [15, 60, 60, 300]


def test_later_collections_look_at_less() -> None:
    found = [window.compute_query_duration_s(5000, number) for number in range(5)]
    assert found == [5000, 600, 300, 120, 120]


@pytest.mark.parametrize(
    ("query", "expanded"),
    [
        ("x{e='$EXPERIMENT'}", "x{e='demo'}"),
        ("rate(x[${DURATION}])", "rate(x[15m])"),
        ("x{n='$NAMESPACE'}[$DURATION]", "x{n='ns'}[15m]"),
        ("$EXPERIMENTS and $1", "$EXPERIMENTS and $1"),
    ],
)
def test_placeholders_are_replaced_with_and_without_braces(query: str, expanded: str) -> None:
    found = queries.expand(query, experiment="demo", namespace="ns", duration="15m")
    assert found == expanded


def test_default_queries_name_the_experiment() -> None:
    asked = queries.list_queries(experiment())
    assert [each.name for each in asked] == [
        "cpu_by_pod",
        "memory_by_pod",
        "cpu_total",
        "memory_total",
    ]
    assert all("$EXPERIMENT" in each.query for each in asked)


def test_matrix_and_vector_are_read_and_infinities_dropped() -> None:
    matrix = (
        b'{"status":"success","data":{"resultType":"matrix","result":['
        b'{"metric":{"pod":"a"},"values":[[1,"1"],[2,"2"]]},'
        b'{"metric":{"pod":"b"},"values":[[1,"3"],[2,"4"]]}]}}'
    )
    assert [point.value for point in parse(matrix)] == [1, 2, 3, 4]
    vector = (
        b'{"status":"success","data":{"resultType":"vector","result":['
        b'{"metric":{},"value":[1,"NaN"]},{"metric":{},"value":[1,"+Inf"]},'
        b'{"metric":{},"value":[1,"-Inf"]},{"metric":{"a":"b"},"value":[0,"42.5"]}]}}'
    )
    (point,) = parse(vector)
    assert (point.value, point.labels, point.timestamp) == (
        42.5,
        {"a": "b"},
        "1970-01-01T00:00:00Z",
    )


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b'{"status":"\xff\xfe"}',
        b'{"status":' * 100_000,
        b'{"status":"error","errorType":"bad_data","error":"parse error"}',
        b'{"status":"success"}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{}}]}}',
        b'{"status":"success","data":{"resultType":"streams","result":[]}}',
    ],
)
def test_other_answers_are_errors(body: bytes) -> None:
    with pytest.raises(QueryError):
        parse(body)


@given(st.binary(max_size=200))
def test_no_answer_crashes(body: bytes) -> None:
    with pytest.raises(QueryError):
        parse(body)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.42", [0.42]),
        ("[1, 2.5]", [1, 2.5]),
        (" 7\n", [7]),
        ("nan", []),
        ("Infinity", []),
        ("pass", []),
        ("", []),
        ('{"a": 1}', []),
    ],
)
def test_output_parameters_are_read_as_numbers(text: str, values: list[float]) -> None:
    assert outputs.parse(text) == values


# --- the gate


def test_the_gate_needs_a_run_that_succeeded() -> None:
    spec: dict[str, object] = {"publish": True, "metrics": [{"name": "a", "query": "a"}]}
    asked = experiment(**spec)
    complete = msgspec.structs.replace(
        asked, status=msgspec.structs.replace(asked.status, phase="Complete")
    )
    assert gate.choose_gate(asked) is None
    assert gate.choose_gate(complete) == QualityGate()
    off = experiment(**spec, qualityGate={"enabled": False})
    assert gate.choose_gate(msgspec.structs.replace(off, status=complete.status)) is None


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=5, max_size=5),
)
def test_the_gate_always_ends(maximum: int, rounds: list[tuple[int, int]]) -> None:
    wanted = QualityGate(max_iterations=maximum)
    status: IterationStatus | None = None
    for number, (full, empty) in enumerate(rounds, start=1):
        metrics = {f"f{i}": metric(1) for i in range(full)}
        metrics |= {f"e{i}": metric() for i in range(empty)}
        decision = gate.evaluate(wanted, status, metrics, verdict="")
        status = decision.status
        assert status.current_iteration == number
        last = status.quality_results[-1]
        assert last.passed == (full >= empty)
        assert (decision.retry_after_s is None) == (last.passed or number == maximum)
        assert decision.is_exhausted == (not last.passed and number == maximum)
        assert gate.explain(status)
        if decision.retry_after_s is None:
            return
    raise AssertionError("the gate never ended")


def test_an_insufficient_verdict_does_not_pass() -> None:
    decision = gate.evaluate(QualityGate(), None, {"a": metric(1)}, verdict="insufficient")
    assert decision.status.phase == "Recollecting"


def test_an_early_call_waits_for_the_rest_of_the_delay() -> None:
    wanted = QualityGate(recollect_delay_seconds=120)
    once = IterationStatus(current_iteration=1, phase="Recollecting")
    assert gate.compute_due_in_s(wanted, None, elapsed_s=0) == 0
    assert gate.compute_due_in_s(wanted, once, elapsed_s=30) == 90
    assert gate.compute_due_in_s(wanted, once, elapsed_s=120) == 0


# --- cost


@pytest.mark.parametrize(
    ("machine", "nodes", "preemptible", "hours", "usd"),
    [
        ("e2-standard-4", 1, True, 0.7911031941566666, 0.02120156560339867),
        ("e2-medium", 2, False, 1, 0.067),
        ("z9-unknown", 1, False, 2, 0.20),
    ],
)
def test_the_cost_of_a_run_is_hours_times_price(
    machine: str, nodes: int, preemptible: bool, hours: float, usd: float
) -> None:
    cluster = {"type": "gke", "machineType": machine, "preemptible": preemptible}
    asked = experiment(targets=[{"name": "app", "cluster": cluster}])
    status = TargetStatus(
        name="app",
        machine_type=machine,
        node_count=nodes,
        created_at=rfc3339.format_time(NOW),
    )
    asked = msgspec.structs.replace(
        asked, status=msgspec.structs.replace(asked.status, targets=(status,))
    )
    found = cost.estimate(asked, until=NOW + timedelta(hours=hours))
    assert found is not None
    assert float(found.total_usd) == pytest.approx(usd, abs=1e-6)
    assert "disks" in found.note


def test_the_hub_costs_nothing() -> None:
    asked = experiment(targets=[{"name": "app", "cluster": {"type": "hub"}}])
    assert cost.estimate(asked, until=NOW) is None


# --- discovery


@pytest.mark.parametrize(
    ("name", "port"),
    [
        ("kube-prometheus-stack-prometheus", 9090),
        ("prometheus-server", 9090),
        ("prometheus-operator", None),
        ("prometheus-node-exporter", None),
        ("vmsingle-demo", 8428),
        ("victoria-metrics-agent", None),
        ("mimir-query-frontend", 8080),
        ("mimir-distributor", None),
        ("web", None),
    ],
)
def test_metrics_stores_are_known_by_their_names(name: str, port: int | None) -> None:
    assert guess_port(name) == port


def test_stores_of_the_experiment_are_tried_first() -> None:
    services = [
        {"metadata": {"namespace": namespace, "name": "prometheus"}}
        for namespace in ("zoo", "default", "monitoring", "demo")
    ]
    found = [each.namespace for each in find_candidates(services, "demo")]
    assert found == ["demo", "monitoring", "default", "zoo"]
