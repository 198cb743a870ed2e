"""Which lines a simulated container has written by some time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.kinds.pod_log import (
    KEPT_LINES,
    ContainerLog,
    Run,
    build_log,
    encode_line,
    find_container,
    validate_options,
)
from quarterdeck.server.kinds.simulation import LOG_INTERVAL, LOGS
from quarterdeck.wire.query import PodLogOptions
from quarterdeck.wire.status import BadRequest

START = datetime(2026, 1, 1, tzinfo=UTC)
ENDED = {"exitCode": 3, "reason": "Error", "startedAt": "2026-01-01T00:00:00Z"}
ENDED["finishedAt"] = "2026-01-01T00:00:10Z"
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def build_pod(state: Any = RUNNING, last: Any = None, **annotations: str) -> dict[str, Any]:
    names = {"logs": LOGS, "logs_main": f"{LOGS}.main", "interval": LOG_INTERVAL}
    return {
        "metadata": {
            "name": "web",
            "namespace": "team",
            "annotations": {names[key]: text for key, text in annotations.items()},
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "nginx:1"}]},
        "status": {
            "containerStatuses": [{"name": "main", "state": state, "lastState": last or {}}]
        },
    }


def read(pod: dict[str, Any], after_s: float = 0, **options: Any) -> list[str]:
    asked = PodLogOptions(**options)
    log = build_log(pod, asked)
    return [each.text for each in log.read(asked, START + timedelta(seconds=after_s))]


def test_lines_without_an_interval_are_written_at_the_start() -> None:
    assert read(build_pod(logs="one\ntwo")) == ["one", "two"]
    assert read(build_pod(logs="one\ntwo"), 100) == ["one", "two"]


def test_lines_with_an_interval_are_repeated() -> None:
    pod = build_pod(logs="a {n}\nb {n}", interval="2s")
    assert read(pod) == ["a 1"]
    assert read(pod, 5) == ["a 1", "b 2", "a 3"]


def test_placeholders_are_filled_in() -> None:
    pod = build_pod(logs="{namespace}/{pod} {container} {image} {node} {other}")
    assert read(pod) == ["team/web main nginx:1 n1 {other}"]


def test_a_container_may_have_lines_of_its_own() -> None:
    assert read(build_pod(logs="all", logs_main="mine")) == ["mine"]


def test_without_an_annotation_the_log_names_it() -> None:
    (line,) = read(build_pod())
    assert line.startswith("simulated container main of image nginx:1 started") and LOGS in line


def test_a_container_that_exited_says_so_at_the_end() -> None:
    pod = build_pod(state={"terminated": ENDED})
    assert read(pod, 60)[-1] == "simulated container main exited with code 3 (Error)"
    assert read(build_pod(state={"terminated": ENDED}, logs="a", interval="4s"), 60) == ["a"] * 3


def test_a_container_that_waits_to_restart_has_the_log_of_its_last_run() -> None:
    pod = build_pod(state={"waiting": {"reason": "CrashLoopBackOff"}}, last={"terminated": ENDED})
    assert "exited with code 3" in read(pod, 60)[-1]


def test_previous_is_the_run_before() -> None:
    pod = build_pod(last={"terminated": ENDED})
    assert "exited with code 3" in read(pod, 60, previous=True)[-1]
    with pytest.raises(BadRequest) as refused:
        read(build_pod(), previous=True)
    assert str(refused.value) == 'previous terminated container "main" in pod "web" not found'


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"waiting": {"reason": "ContainerCreating"}}, "is waiting to start: ContainerCreating"),
        ({"waiting": {"reason": "ErrImagePull"}}, "is waiting to start: image can't be pulled"),
        (
            {"waiting": {"reason": "ImagePullBackOff"}},
            "is waiting to start: trying and failing to pull image",
        ),
        ({}, "is not available"),
    ],
)
def test_a_container_that_has_not_run_is_refused(state: Any, words: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(build_pod(state=state))
    assert str(refused.value) == f'container "main" in pod "web" {words}'


def test_the_container_must_be_named_where_there_are_several() -> None:
    pod = build_pod()
    pod["spec"]["containers"].append({"name": "side"})
    with pytest.raises(BadRequest) as refused:
        find_container(pod, "")
    assert str(refused.value) == (
        "a container name must be specified for pod web, choose one of: [main side]"
    )
    pod["spec"]["initContainers"] = [{"name": "setup"}]
    with pytest.raises(BadRequest) as refused:
        find_container(pod, "")
    assert str(refused.value).endswith("or one of the init containers: [setup]")
    assert find_container(pod, "setup") == "setup"
    with pytest.raises(BadRequest) as refused:
        find_container(pod, "none")
    assert str(refused.value) == "container none is not valid for pod web"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tail_lines": -1}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limit_bytes": 0}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"since_seconds": 0}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"since_seconds": 1, "since_time": "2026-01-01T00:00:00Z"},
            ": Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], words: str) -> None:
    assert [str(each) for each in validate_options(PodLogOptions(**options))] == [words]


def test_lines_are_selected_by_time_and_number() -> None:
    pod = build_pod(logs="{n}", interval="1s")
    assert read(pod, 9, tail_lines=2) == ["9", "10"]
    assert read(pod, 9, since_seconds=3) == ["7", "8", "9", "10"]
    assert read(pod, 9, since_time="2026-01-01T00:00:08Z") == ["9", "10"]
    assert read(pod, 9, tail_lines=0) == []


def test_timestamps_stand_before_the_text() -> None:
    log = build_log(build_pod(logs="x"), PodLogOptions())
    (line,) = log.read(PodLogOptions(), START)
    assert encode_line(line, timestamps=True) == b"2026-01-01T00:00:00.000000000Z x\n"
    assert encode_line(line, timestamps=False) == b"x\n"


@given(
    interval_s=st.floats(0.001, 1000),
    age_s=st.floats(0, 1e7),
    tail=st.none() | st.integers(0, 50),
)
def test_reading_is_bounded_and_in_order(interval_s: float, age_s: float, tail: int | None) -> None:
    log = ContainerLog(Run(START, None), ("a", "b"), interval_s, ())
    now = START + timedelta(seconds=age_s)
    lines = list(log.read(PodLogOptions(tail_lines=tail), now))
    assert len(lines) <= min(KEPT_LINES, KEPT_LINES if tail is None else tail)
    assert [each.number for each in lines] == sorted({each.number for each in lines})
    assert all(each.written <= now + timedelta(microseconds=1) for each in lines)
    following = log.compute_next_line_s(now)
    assert following is not None and 0 < following <= interval_s + 0.001


@pytest.mark.parametrize("text", ["often", "-3s", "0s"])
def test_an_interval_that_cannot_be_read_counts_as_absent(text: str) -> None:
    assert read(build_pod(logs="a\nb", interval=text), 60) == ["a", "b"]
