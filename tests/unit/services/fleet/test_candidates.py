"""A pipeline with a candidate: who gets which text, and what is counted about it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import rfc3339
from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.candidates import MEMBER
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.deliveries import count_deliveries, find_conflicts, plan_upkeep
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.secret_texts import SecretTexts
from quarterdeck.telemetry.candidates import digest_contents

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = rfc3339.format_time(NOW)
STABLE = 'loki.write "stable" {\n}\n'
NEW = 'loki.write "new" {\n}\n'


def build(**rollout: Any) -> Configs:
    message = {
        "name": "web",
        "contents": STABLE,
        "matchers": ["env=prod"],
        "metadata": {MEMBER: {"contents": NEW, "matchers": ["env=prod"], **rollout}},
    }
    pipelines = Pipelines((), ())
    pipelines.store(pipelines.plan_create(message, STAMP), STAMP)
    return Configs(pipelines)


def collector(identity: str = "edge-1", **more: Any) -> Collector:
    return Collector(id=identity, local_attributes={"env": "prod"}, last_seen=STAMP, **more)


def serve(configs: Configs, each: Collector) -> Collector:
    merged, parts = configs.get_config(each)
    return rules.record_served(each, merged.hash, parts)


def poll(each: Collector, status: str = "", message: str = "") -> Collector:
    report = {"status": f"RemoteConfigStatuses_{status}", "errorMessage": message}
    request = {"id": each.id, "hash": each.served_hash}
    return rules.record_poll(
        each, {**request, **({"remoteConfigStatus": report} if status else {})}, STAMP
    )


@given(st.integers(0, 100))
def test_every_collector_gets_exactly_one_of_the_two_texts(weight: int) -> None:
    configs = build(weight=weight)
    texts = [configs.get_merged(collector(f"edge-{n}")).content for n in range(40)]
    assert all(("stable" in text) != ("new" in text) for text in texts)
    if weight in (0, 100):
        assert len(set(texts)) == 1


def test_matchers_choose_and_promotion_changes_nothing_for_the_chosen() -> None:
    configs = build(chosen=["collector.ID=edge-1"])
    chosen, other = collector("edge-1"), collector("edge-2")
    assert "new" in configs.get_merged(chosen).content
    assert "stable" in configs.get_merged(other).content
    before = configs.get_merged(chosen).hash
    message = {"id": "1", "name": "web", "contents": NEW, "matchers": ["env=prod"]}
    pipelines = configs._pipelines
    pipelines.store(pipelines.plan_update(message, STAMP), STAMP)
    assert configs.get_merged(chosen).hash == before == configs.get_merged(other).hash


def test_a_candidate_can_be_new_or_reach_others_than_before() -> None:
    configs = build(weight=100, matchers=["env=test"])
    assert configs.list_matching(collector()) == []
    outsider = Collector(id="x", local_attributes={"env": "test"})
    assert [each.contents for each in configs.list_matching(outsider)] == [NEW]


@pytest.mark.parametrize(
    ("rollout", "text"),
    [
        ({"contents": "a {"}, "contents"),
        ({"weight": 101}, "weight"),
        ({"chosen": ["=="]}, "chosen"),
        ({"matchers": "env=prod"}, "matchers"),
    ],
)
def test_a_bad_candidate_is_refused(rollout: dict[str, Any], text: str) -> None:
    with pytest.raises(FleetError, match=text):
        build(**rollout)


def count(configs: Configs, *fleet: Collector, now: datetime = NOW) -> dict[str, Any]:
    return count_deliveries(fleet, configs, now, secrets=SecretTexts(configs._pipelines))["1"]


def test_a_stored_candidate_that_is_too_large_by_now_does_not_stop_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = build(weight=100)._pipelines.list_all()
    monkeypatch.setattr("quarterdeck.services.fleet.candidates.MAX_CONTENTS", len(NEW) - 1)
    configs = Configs(Pipelines(stored, ()))
    assert [each.contents for each in configs.list_matching(collector())] == [NEW]


def test_reports_are_counted_by_text() -> None:
    configs = build(chosen=["collector.ID=edge-1"])
    new, stable = digest_contents(NEW), digest_contents(STABLE)
    chosen, other = collector("edge-1"), collector("edge-2")
    assert count(configs, chosen, other)[new]["stale"] == 1
    chosen, other = serve(configs, chosen), serve(configs, other)
    assert count(configs, chosen, other)[stable]["applying"] == 1
    chosen, other = poll(chosen, "FAILED", "no such component"), poll(other, "APPLIED")
    counts = count(configs, chosen, other)
    assert (counts[new]["failed"], counts[stable]["applied"]) == (1, 1)
    assert counts[new]["failures"] == ["edge-1: no such component"]
    late = NOW + timedelta(minutes=10)
    assert count(configs, chosen, other, now=late)[new]["stale"] == 1


def test_an_agent_that_polls_without_a_status_counts_as_applied() -> None:
    configs = build(weight=0)
    quiet = poll(serve(configs, collector()))
    assert count(configs, quiet)[digest_contents(STABLE)]["applied"] == 1


def test_a_failure_is_not_attributed_to_a_pipeline_that_ran_before() -> None:
    configs = build(weight=0)
    running = poll(serve(configs, collector()), "APPLIED")
    pipelines = configs._pipelines
    message = {"name": "api", "contents": NEW, "matchers": ["env=prod"]}
    pipelines.store(pipelines.plan_create(message, STAMP), STAMP)
    failed = poll(serve(configs, running), "FAILED", "bad")
    counts = count_deliveries([failed], configs, NOW, secrets=SecretTexts(configs._pipelines))
    assert counts["2"][digest_contents(NEW)]["failed"] == 1
    assert counts["1"][digest_contents(STABLE)]["applied"] == 1


def test_contradictions_are_told_about_both() -> None:
    pipelines = Pipelines((), ())
    for name, level in (("a", "basic"), ("b", "detailed")):
        text = (
            f"receivers: {{otlp: {{}}}}\nexporters: {{debug: {{verbosity: {level}}}}}\n"
            f"service: {{pipelines: {{logs/{name}: {{receivers: [otlp], exporters: [debug]}}}}}}\n"
        )
        message = {
            "name": name,
            "contents": text,
            "matchers": ["env=prod"],
            "configType": "CONFIG_TYPE_OTEL",
        }
        pipelines.store(pipelines.plan_create(message, STAMP), STAMP)
    agent = collector(collector_type="COLLECTOR_TYPE_OTEL")
    assert find_conflicts([agent], Configs(pipelines)) == {
        "a": frozenset({"b"}),
        "b": frozenset({"a"}),
    }


def test_silent_collectors_are_marked_and_forgotten_in_the_end() -> None:
    active, silent = collector("active"), collector("silent")
    later = NOW + timedelta(minutes=6)
    active = rules.record_poll(active, {"id": "active"}, rfc3339.format_time(later))
    marked, gone = plan_upkeep([active, silent], later)
    assert [each.id for each in marked] == ["silent"] and gone == []
    again = plan_upkeep(marked, later + timedelta(days=29))
    assert again == ([], [])
    assert plan_upkeep(marked, later + timedelta(days=31)) == ([], ["silent"])
    back = rules.record_poll(marked[0], {"id": "silent"}, rfc3339.format_time(later))
    assert back.marked_inactive_at == ""
