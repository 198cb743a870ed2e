"""Who notices a change: compared with asking every collector about every pipeline."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.pipelines.blast_radius import (
    MAX_DIFF_LINES,
    Planned,
    diff_config,
    plan_impact,
)
from quarterdeck.operators.pipelines.manifests import ManifestError, read_planned
from quarterdeck.operators.pipelines.ports import RemoteCollector
from quarterdeck.telemetry.matchers import match_all

ALLOY, OTEL = "CONFIG_TYPE_ALLOY", "CONFIG_TYPE_OTEL"
matchers = st.sampled_from(["env=a", "env!=a", 'team=~"a|b"', "team=b", 'team=""'])
pipelines = st.lists(
    st.builds(
        Planned,
        name=st.sampled_from("pqr"),
        contents=st.sampled_from(["one", "two"]),
        matchers=st.lists(matchers, max_size=2).map(tuple),
        enabled=st.booleans(),
        config_type=st.sampled_from([ALLOY, OTEL]),
    ),
    unique_by=lambda each: each.name,
)
collectors = st.lists(
    st.builds(
        RemoteCollector,
        id=st.sampled_from("123456"),
        enabled=st.booleans(),
        type=st.sampled_from(["COLLECTOR_TYPE_ALLOY", "COLLECTOR_TYPE_OTEL"]),
        local=st.dictionaries(st.sampled_from(["env", "team"]), st.sampled_from("abc")),
        remote=st.dictionaries(st.just("env"), st.sampled_from("abc")),
    ),
    unique_by=lambda each: each.id,
)


def texts(collector: RemoteCollector, listed: list[Planned]) -> dict[str, str]:
    """What a collector runs, by asking every pipeline."""
    wanted = OTEL if collector.is_otel else ALLOY
    return {
        each.name: each.contents
        for each in listed
        if collector.enabled
        and each.enabled
        and each.config_type == wanted
        and match_all(each.parse_matchers(), collector.attributes)
    }


@given(collectors, pipelines, pipelines)
def test_the_plan_says_what_asking_everybody_says(
    fleet: list[RemoteCollector], before: list[Planned], after: list[Planned]
) -> None:
    impact = plan_impact(fleet, before, after)
    gain, lose, change = set(), set(), set()
    for each in fleet:
        had, gets = texts(each, before), texts(each, after)
        if gets.keys() - had.keys():
            gain.add(each.id)
        if had.keys() - gets.keys():
            lose.add(each.id)
        if any(had[name] != gets[name] for name in had.keys() & gets.keys()):
            change.add(each.id)
    assert (set(impact.gain), set(impact.lose), set(impact.change)) == (gain, lose, change)
    assert impact.collectors == len(fleet)
    assert sum(each.gain for each in impact.pipelines) >= len(gain)


def test_a_diff_shows_the_merged_configuration_of_one_collector() -> None:
    collector = RemoteCollector(id="edge-1", local={"env": "prod"})
    before = [Planned("web", 'loki.write "a" {\n}\n', ("env=prod",))]
    after = [Planned("web", 'loki.write "b" {\n}\n', ("env=prod",))]
    text = diff_config(collector, before, after)
    assert '-loki.write "a" {' in text and '+loki.write "b" {' in text
    assert "edge-1 now" in text
    assert diff_config(collector, before, before) == ""


def test_a_pipeline_with_other_matchers_and_another_text_changes_who_keeps_it() -> None:
    fleet = [
        RemoteCollector(id="both", local={"env": "prod", "team": "a"}),
        RemoteCollector(id="old", local={"env": "prod", "team": "b"}),
        RemoteCollector(id="new", local={"env": "test", "team": "a"}),
    ]
    before = [Planned("web", "one", ("env=prod",)), Planned("api", "same", ("env=prod",))]
    after = [Planned("web", "two", ("team=a",)), Planned("api", "same", ("team=a",))]
    impact = plan_impact(fleet, before, after)
    assert (impact.gain, impact.lose, impact.change) == (("new",), ("old",), ("both",))
    assert [(each.gain, each.lose, each.change) for each in impact.pipelines] == [
        (1, 1, 0),
        (1, 1, 1),
    ]


def test_a_pipeline_with_an_invalid_matcher_reaches_nobody() -> None:
    fleet = [RemoteCollector(id="a", local={"env": "prod"})]
    assert plan_impact(fleet, [], [Planned("web", "x", ("env=~[a-",))]).gain == ()


def test_a_diff_of_a_collector_of_opentelemetry_is_cut_after_some_lines() -> None:
    collector = RemoteCollector(id="edge-1", type="COLLECTOR_TYPE_OTEL", local={"env": "prod"})
    receivers = "".join(f"  otlp/{n}: {{}}\n" for n in range(3000))
    after = [Planned("web", f"receivers:\n{receivers}", ("env=prod",), config_type=OTEL)]
    lines = diff_config(collector, [], after).splitlines()
    assert len(lines) == MAX_DIFF_LINES + 1
    assert lines[-1].startswith("… ") and lines[-1].endswith(" more lines")


def test_a_summary_names_some_and_counts_the_rest() -> None:
    fleet = [RemoteCollector(id=f"edge-{n:02}", local={"env": "prod"}) for n in range(30)]
    impact = plan_impact(fleet, [], [Planned("web", "x", ("env=prod",))])
    assert str(impact).startswith("30 of 30 collectors affected: 30 gain, 0 lose, 0 change")
    assert str(impact).endswith("and 10 more")
    assert impact.summarize().sample[0] == "edge-00"


def test_manifests_of_pipelines_and_sets_are_planned_alike() -> None:
    text = """
apiVersion: fleetmanagement.grafana.com/v1alpha1
kind: PipelineSet
metadata: {name: s}
spec:
  source: {namespace: x}
  matchers: [team=a]
  pipelines:
    - {name: one, contents: x, matchers: [env=prod]}
---
apiVersion: fleetmanagement.grafana.com/v1alpha1
kind: Pipeline
metadata: {name: two}
spec: {contents: text, matchers: [env=prod], configType: OpenTelemetryCollector}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"""
    assert read_planned("x.yaml", text) == [
        Planned("one", "x", ("team=a", "env=prod")),
        Planned("two", "text", ("env=prod",), config_type=OTEL),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "x.yaml: cannot parse as YAML", id="not YAML"),
        pytest.param(
            "{apiVersion: GROUP/v1alpha1, kind: Pipeline, metadata: {name: p}, spec: []}",
            "x.yaml: Pipeline: Expected `object`",
            id="another shape",
        ),
        pytest.param(
            "{apiVersion: GROUP/v1alpha1, kind: Pipeline, metadata: {name: p}, spec: {contents: '',"
            " contentsFrom: {configMapKeyRef: {name: c, key: k}}}}",
            "Pipeline p: contentsFrom cannot be planned",
            id="contents from elsewhere",
        ),
    ],
)
def test_manifests_that_cannot_be_planned_are_refused(text: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        read_planned("x.yaml", text.replace("GROUP", "fleetmanagement.grafana.com"))


def test_lists_are_read_and_other_documents_skipped() -> None:
    text = """
apiVersion: v1
kind: List
items:
  - {apiVersion: fleetmanagement.grafana.com/v1alpha1, kind: Pipeline,
     metadata: {name: one}, spec: {contents: x}}
  - {apiVersion: fleetmanagement.grafana.com/v1alpha1, kind: Collector,
     metadata: {name: c}, spec: {id: c}}
  - just text
"""
    assert [each.name for each in read_planned("x.yaml", text)] == ["one"]
