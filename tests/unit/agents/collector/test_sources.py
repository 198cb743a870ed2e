"""When sources are due."""

import msgspec

from quarterdeck.agents.collector.sources import SourceSchedule


def make_source(name: str, interval: int = 60, kind: str = "Pod") -> bytes:
    spec = {
        "source": {"apiVersion": "v1", "kind": kind},
        "fields": [{"name": "phase", "path": ".status.phase"}],
        "collection": {"intervalSeconds": interval},
    }
    return msgspec.json.encode({"name": name, "namespace": "d", "spec": spec})


def due(schedule: SourceSchedule, now: float) -> list[str]:
    return [each.identity for each in schedule.take_due(now)]


def test_each_source_has_its_own_interval() -> None:
    schedule = SourceSchedule()
    assert schedule.replace([make_source("a", 30), make_source("b", 120)], 0.0) == []
    assert due(schedule, 0) == ["d/a", "d/b"]
    assert schedule.next_due([500.0]) == 30
    assert due(schedule, 30) == ["d/a"]
    assert due(schedule, 120) == ["d/a", "d/b"]


def test_unchanged_sources_keep_their_rhythm_and_changed_ones_are_due_at_once() -> None:
    schedule = SourceSchedule()
    schedule.replace([make_source("a"), make_source("b")], 0.0)
    due(schedule, 0)
    schedule.replace([make_source("a"), make_source("b", kind="Service")], 10.0)
    assert due(schedule, 10) == ["d/b"]


def test_an_empty_set_removes_the_last_source() -> None:
    schedule = SourceSchedule()
    schedule.replace([make_source("a")], 0.0)
    schedule.replace([], 1.0)
    assert due(schedule, 1000) == []


def test_sources_that_cannot_be_used_do_not_stop_the_others() -> None:
    schedule = SourceSchedule()
    problems = schedule.replace([b"{}", make_source("a"), make_source("c", kind="")], 0.0)
    assert len(problems) == 2
    assert due(schedule, 0) == ["d/a"]
