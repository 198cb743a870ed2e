"""Simulated workflows whose metrics vary from run to run."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.experiments.simulators.workflows import vary

OUTPUTS = {"metric.p99": "100", "metric.list": "[1, 2]", "verdict": "pass"}


@given(st.text(max_size=20), st.floats(0, 1))
def test_metrics_stay_within_their_share(seed: str, share: float) -> None:
    found = vary(OUTPUTS, str(share), seed=seed)
    assert abs(float(found["metric.p99"]) - 100) <= 100 * share + 1e-3
    assert (found["metric.list"], found["verdict"]) == ("[1, 2]", "pass")
    assert vary(OUTPUTS, str(share), seed=seed) == found


def test_runs_differ_and_no_noise_changes_nothing() -> None:
    assert len({vary(OUTPUTS, "0.05", seed=str(n))["metric.p99"] for n in range(20)}) > 15
    assert vary(OUTPUTS, "", seed="a") == OUTPUTS
    assert vary(OUTPUTS, "much", seed="a") == OUTPUTS
