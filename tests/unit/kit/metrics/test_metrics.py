"""The metrics registry: its text as Prometheus' own parser reads it, and its limit of series."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from quarterdeck.kit.metrics import OVERFLOW, Registry

_texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)
_numbers = st.floats(allow_nan=False)


def read(registry: Registry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples, as prometheus-client's parser understands the page."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(registry.render().decode())
        for sample in family.samples
    }


def test_the_page_has_the_text_format_of_prometheus() -> None:
    registry = Registry()
    registry.counter("c_total", "Counts \\ a\nlot", ("a",)).labels('x"\n').inc(2)
    registry.gauge("g", "A gauge").labels().set_function(lambda: 1.5)
    histogram = registry.histogram("h", "Times", buckets=(0.1, 1.0)).labels()
    for value in (0.1, 0.5, 3.0):
        histogram.observe(value)
    assert registry.render().decode() == (
        "# HELP c_total Counts \\\\ a\\nlot\n# TYPE c_total counter\n"
        'c_total{a="x\\"\\n"} 2\n'
        "# HELP g A gauge\n# TYPE g gauge\ng 1.5\n"
        "# HELP h Times\n# TYPE h histogram\n"
        'h_bucket{le="0.1"} 1\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 3\nh_sum 3.6\nh_count 3\n'
    )


@given(values=st.dictionaries(st.tuples(_texts, _texts), _numbers, max_size=6))
def test_gauges_of_any_labels_and_values_are_read_back(
    values: dict[tuple[str, str], float],
) -> None:
    registry = Registry()
    gauge = registry.gauge("g", "Any", ("a", "b"))
    for labels, value in values.items():
        gauge.labels(*labels).set(value)
    expected = {("g", (("a", a), ("b", b))): value for (a, b), value in values.items()}
    assert read(registry) == expected


@given(observed=st.lists(st.floats(-10, 10), max_size=20))
def test_buckets_of_a_histogram_are_cumulative(observed: list[float]) -> None:
    registry = Registry()
    histogram = registry.histogram("h", "Any", buckets=(-1.0, 0.0, 2.5)).labels()
    for value in observed:
        histogram.observe(value)
    found = read(registry)
    for bound, text in ((-1.0, "-1"), (0.0, "0"), (2.5, "2.5"), (math.inf, "+Inf")):
        expected = sum(value <= bound for value in observed)
        assert found["h_bucket", (("le", text),)] == expected
    assert found["h_count", ()] == len(observed) == registry.get_value("h")
    assert found["h_sum", ()] == pytest.approx(sum(observed))


def test_values_without_a_finite_number_are_written_as_prometheus_reads_them() -> None:
    registry = Registry()
    gauge = registry.gauge("g", "Any", ("a",))
    for name, value in (("up", math.inf), ("down", -math.inf), ("none", math.nan)):
        gauge.labels(name).set(value)
    found = {labels[0][1]: value for (_, labels), value in read(registry).items()}
    assert (found["up"], found["down"]) == (math.inf, -math.inf)
    assert math.isnan(found["none"])


@given(names=st.lists(st.sampled_from("abcdefgh"), max_size=40))
def test_a_full_counter_keeps_its_sum_and_its_number_of_series(names: list[str]) -> None:
    registry = Registry()
    counter = registry.counter("c_total", "Any", ("who", "what"), max_series=3)
    for name in names:
        counter.labels(name, "x").inc()
    samples = {key: value for key, value in read(registry).items() if key[0] == "c_total"}
    assert sum(samples.values()) == len(names)
    assert len(samples) == min(4, len(set(names)))
    shown = dict.fromkeys(names)
    late = len(names) - sum(names.count(name) for name in list(shown)[:3])
    assert samples.get(("c_total", (("what", OVERFLOW), ("who", OVERFLOW))), 0) == late
    if late:
        assert registry.get_value("quarterdeck_metrics_overflow_total", "c_total") == late


def test_a_thousand_paths_of_a_stranger_make_no_thousand_series() -> None:
    registry = Registry()
    durations = registry.histogram("h", "Any", ("path",), buckets=(1.0,), max_series=10)
    for number in range(1000):
        durations.labels(f"/{number}").observe(0.5)
    found = read(registry)
    assert sum(name == "h_count" for name, _ in found) == 11
    assert found["h_count", (("path", OVERFLOW),)] == 990


def test_a_full_gauge_shows_no_mixture_of_values() -> None:
    registry = Registry()
    gauge = registry.gauge("g", "Any", ("a",), max_series=1)
    gauge.labels("first").set(1)
    gauge.labels("second").set(2)
    assert read(registry) == {
        ("g", (("a", "first"),)): 1,
        ("quarterdeck_metrics_overflow_total", (("metric", "g"),)): 1,
    }


def test_a_removed_series_makes_room_for_another() -> None:
    registry = Registry()
    gauge = registry.gauge("g", "Any", ("a",), max_series=1)
    gauge.labels("first").set(1)
    gauge.remove("first")
    gauge.labels("second").set(2)
    assert read(registry) == {("g", (("a", "second"),)): 2}


def test_a_value_that_is_read_makes_no_series() -> None:
    registry = Registry()
    registry.counter("c_total", "Any", ("a",))
    assert registry.get_value("c_total", "x") == 0
    assert read(registry) == {}


def test_collectors_run_before_each_rendering() -> None:
    registry = Registry()
    gauge = registry.gauge("g", "Any").labels()
    registry.add_collector(gauge.inc)
    assert read(registry) == {("g", ()): 1}
    assert read(registry) == {("g", ()): 2}


def test_a_count_kept_elsewhere_is_shown_as_a_counter() -> None:
    registry = Registry()
    registry.counter("c_total", "Any").labels().set_function(lambda: 7)
    assert b"# TYPE c_total counter\nc_total 7\n" in registry.render()


def test_declarations_prometheus_would_refuse_are_refused() -> None:
    registry = Registry()
    registry.gauge("g", "Any")
    with pytest.raises(ValueError, match="metric g is declared twice"):
        registry.gauge("g", "again")
    with pytest.raises(ValueError, match="metric name 'a-b' is not valid"):
        registry.gauge("a-b", "Any")
    with pytest.raises(ValueError, match="label name '__x' is not valid"):
        registry.gauge("x", "Any", ("__x",))
    with pytest.raises(ValueError, match="label 'le' is reserved"):
        registry.histogram("x", "Any", ("le",), buckets=(1.0,))
    with pytest.raises(ValueError, match="buckets must be finite and rise"):
        registry.histogram("x", "Any", buckets=(2.0, 1.0))
    with pytest.raises(ValueError, match="max_series must be at least 1"):
        registry.gauge("x", "Any", max_series=0)


def test_wrong_use_of_a_series_is_refused() -> None:
    counter = Registry().counter("c_total", "Any", ("a",))
    with pytest.raises(ValueError, match=r"has labels \('a',\), got \('x', 'y'\)"):
        counter.labels("x", "y")
    with pytest.raises(ValueError, match="cannot be decreased"):
        counter.labels("x").inc(-1)
