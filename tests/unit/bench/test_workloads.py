"""What the workloads of operators compute, without any process."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from bench.peers import faulty_server, prose
from bench.peers.observer import Observer
from bench.peers.widgets import text_for, widget
from bench.series import Figures
from bench.suite import Missing
from bench.workloads import restart
from bench.workloads.contenders import KOPF, without
from bench.workloads.soak import Sample, gains


def stored(name: str, *, size: int, seen: int, version: int) -> dict[str, Any]:
    found = widget(name, size)
    found["metadata"] |= {"namespace": "default", "resourceVersion": str(version)}
    return {**found, "status": {"seen": seen}}


def listed(*items: dict[str, Any]) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": "5"}, "items": items}).encode()


def event(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode()


def test_the_observer_waits_for_every_status() -> None:
    seen = Observer(
        listed(stored("a", size=1, seen=1, version=2), stored("b", size=2, seen=0, version=3))
    )
    assert (seen.waiting, seen.settled.is_set()) == (1, False)
    seen.line(event("MODIFIED", stored("b", size=2, seen=2, version=6)))
    assert (seen.waiting, seen.settled.is_set(), seen.writes) == (0, True, 1)
    assert len(seen.delays) == 1 and seen.version == "6"


def test_the_observer_forgets_what_is_deleted() -> None:
    seen = Observer(listed(stored("a", size=1, seen=0, version=2)))
    seen.line(event("DELETED", stored("a", size=1, seen=0, version=7)))
    assert seen.settled.is_set() and seen.writes == 0


def test_nothing_is_settled_before_what_was_written_is_seen() -> None:
    seen = Observer(listed())
    assert seen.settled.is_set()
    seen.wrote("9")
    assert (seen.waiting, seen.settled.is_set()) == (1, False)
    seen.line(event("ADDED", stored("a", size=1, seen=0, version=9)))
    assert not seen.settled.is_set()
    seen.line(event("MODIFIED", stored("a", size=1, seen=1, version=12)))
    assert seen.settled.is_set()


def test_every_object_waits_for_the_new_value_of_a_shared_dependency() -> None:
    seen = Observer(listed(stored("a", size=1, seen=1, version=2)))
    seen.expect(3)
    assert seen.waiting == 1
    seen.line(event("MODIFIED", stored("a", size=1, seen=4, version=8)))
    assert seen.waiting == 0


@pytest.mark.parametrize("kilobytes", [1, 4, 32])
def test_objects_are_about_as_large_as_they_should_be(kilobytes: int) -> None:
    bare = len(json.dumps(widget("w0", 1, text=text_for(kilobytes * 1_000))))
    assert kilobytes * 1_000 - 700 < bare <= kilobytes * 1_000


@pytest.mark.parametrize("write", [prose.words, prose.noise])
def test_texts_differ_and_can_be_repeated(write: Callable[..., str]) -> None:
    assert len(write(300, seed=1)) == 300
    assert write(300, seed=1) == write(300, seed=1) != write(300, seed=2)
    assert json.dumps(write(300, seed=1)) == f'"{write(300, seed=1)}"'


def test_memory_of_an_object_is_the_slope_between_two_sizes() -> None:
    def of(megabytes: float) -> Any:
        def run(figures: Figures) -> None:
            figures |= {"resident_mb": megabytes, "peak_mb": megabytes * 2}

        return run

    slope = restart._slope(of(40.0), of(48.0), objects=4_000)
    assert not isinstance(slope, Missing)
    figures: Figures = {}
    slope(figures)
    assert figures == {"resident_mb": 2.0, "peak_mb": 4.0}
    assert restart._slope(of(1.0), Missing("it ended"), objects=1) == Missing("it ended")


def test_a_soak_counts_what_the_second_half_gained() -> None:
    warming = [Sample(at, 30.0 + at, 10 + at, 2) for at in range(10)]
    steady = [Sample(at, 60.0 + at / 3600, 20, 2) for at in range(10, 20)]
    found = gains([*warming, *steady])
    assert found["slope"] == pytest.approx(1.0)
    assert found["memory"] == pytest.approx(60.0, abs=0.1)
    assert (found["files"], found["threads"]) == (0, 0)


@pytest.mark.parametrize("name", ["cut", "410", "429", "500", "lost", "stall"])
def test_every_fault_has_a_rule(name: str) -> None:
    assert len(faulty_server.rules(name)) == 1


def test_a_fault_that_does_not_exist_is_refused() -> None:
    assert faulty_server.rules("none") == []
    with pytest.raises(ValueError, match="'flood'"):
        faulty_server.rules("flood")


def test_a_peer_that_is_left_out_gives_its_reason() -> None:
    assert without({KOPF: ["kopf"]}, {KOPF: "it has no leases"}) == {
        KOPF: Missing("it has no leases")
    }
