"""Pages of cAdvisor."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.experiments.results.cadvisor import measure, parse

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
START = NOW.timestamp() - 100


def line(name: str, pod: str, value: float, **labels: str) -> str:
    shown = {"container": "c", "namespace": "demo", "pod": pod, **labels}
    inside = ",".join(f'{key}="{each}"' for key, each in shown.items())
    return f"container_{name}{{{inside}}} {value} 1700000000000"


def test_cores_are_seconds_over_age_and_not_the_counter() -> None:
    page = [
        line("cpu_usage_seconds_total", "a", 30, cpu="cpu00"),
        line("cpu_usage_seconds_total", "a", 20, cpu="cpu01"),
        line("start_time_seconds", "a", START),
        line("memory_working_set_bytes", "a", 1e6),
        line("memory_working_set_bytes", "b", 2e6),
    ]
    found = measure("\n".join(page), now=NOW)
    assert [(each.labels, each.value) for each in found["cpu_by_pod"]] == [({"pod": "a"}, 0.5)]
    assert found["memory_total"][0].value == 3e6
    assert len(found["memory_by_pod"]) == 2


def test_the_system_and_observability_do_not_count() -> None:
    page = [
        line("memory_working_set_bytes", "kube-proxy", 1, namespace="kube-system"),
        line("memory_working_set_bytes", "alloy-x", 1),
        line("memory_working_set_bytes", "a", 1, container=""),
        line("memory_working_set_bytes", "a", 1, container="POD"),
        line("memory_working_set_bytes", "a", float("nan")),
        "container_memory_working_set_bytes 5",
        "# HELP nothing",
    ]
    assert measure("\n".join(page), now=NOW) == {}


def test_labels_with_quotes_and_braces_are_read() -> None:
    (sample,) = parse('m{a="x\\"}y",b="2"} 1.5')
    assert (sample.labels["b"], sample.value) == ("2", 1.5)


@given(st.text(max_size=200))
def test_no_page_crashes(text: str) -> None:
    measure(text, now=NOW)
