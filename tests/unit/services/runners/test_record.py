"""Deliveries and records of jobs, without I/O."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.hypervisor.jobs import Job, find_busy_runners, read_jobs
from quarterdeck.services.runners.events import (
    InvalidDelivery,
    is_signature,
    is_signed,
    parse_event,
    sign,
)
from quarterdeck.services.runners.record import plan_change

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
STAMP = "2026-11-15T12:00:00Z"


def apply(data: dict[str, str], *jobs: Job) -> dict[str, str]:
    for job in jobs:
        for key, value in plan_change(data, job, NOW).items():
            if value is None:
                data.pop(key, None)
            else:
                data[key] = value
    return data


@given(st.permutations(["queued", "in_progress", "completed"]))
def test_job_ends_completed_in_whatever_order_its_events_come(order: list[str]) -> None:
    jobs = [Job(id="1", status=each, since=STAMP) for each in order]  # type: ignore[arg-type]
    (job,) = read_jobs(apply({}, *jobs))
    assert job.status == "completed"


def test_a_repeated_event_changes_nothing() -> None:
    data = apply({}, Job(id="1", since=STAMP))
    assert plan_change(data, Job(id="1", since=STAMP), NOW) == {}


def test_job_that_was_queued_too_long_is_forgotten_and_a_running_one_is_not() -> None:
    old = "2026-11-14T10:00:00Z"
    running = Job(id="2", status="in_progress", runner="r1", since=old)
    data = apply({}, Job(id="1", since=old), running, Job(id="3", since=STAMP))
    assert [job.id for job in read_jobs(data)] == ["2", "3"]


def test_job_that_ran_for_longer_than_github_allows_is_forgotten() -> None:
    """The delivery of its end was lost; the record would grow until nothing fits into it."""
    days = {"1": "2026-11-10T10:00:00Z", "2": "2026-11-11T10:00:00Z"}
    jobs = [
        Job(id=number, status="in_progress", runner=f"r{number}", since=since)
        for number, since in days.items()
    ]
    assert find_busy_runners(jobs, NOW).keys() == {"r2"}
    data = {f"job-{job.id}": msgspec.json.encode(job).decode() for job in jobs}
    assert [job.id for job in read_jobs(apply(data, Job(id="3", since=STAMP)))] == ["2", "3"]


def test_runner_is_kept_when_a_later_event_does_not_name_it() -> None:
    data = apply({}, Job(id="1", status="in_progress", runner="r1", since=STAMP))
    (job,) = read_jobs(apply(data, Job(id="1", status="completed", since=STAMP)))
    assert job.runner == "r1"


@pytest.mark.parametrize("text", ["{", '{"more":' + "[" * 100_000], ids=["cut", "nested deeply"])
def test_old_jobs_and_unreadable_entries_are_dropped(text: str) -> None:
    old = msgspec.json.encode(Job(id="0", status="completed", since="2026-11-15T10:00:00Z"))
    data = {"job-0": old.decode(), "job-x": text}
    assert [job.id for job in read_jobs(data)] == ["0"]
    assert set(apply(data, Job(id="1", since=STAMP))) == {"job-1"}


def test_signature_is_checked() -> None:
    body = b'{"action":"queued"}'
    assert is_signed(body, sign(body, "s3cret"), "s3cret")
    assert not is_signed(body, sign(body, "other"), "s3cret")
    assert not is_signed(body + b" ", sign(body, "s3cret"), "s3cret")
    assert not is_signed(body, "", "s3cret")
    assert not is_signed(body, sign(body, ""), "")
    assert is_signature(sign(body, "x"))
    assert not is_signature("sha256=")
    assert not is_signature("sha1=" + "0" * 40)


def test_delivery_is_read() -> None:
    body = msgspec.json.encode(
        {
            "action": "in_progress",
            "workflow_job": {"id": 7, "labels": ["Self-Hosted", "linux"], "runner_name": "r1"},
            "repository": {"full_name": "acme/web"},
        }
    )
    event = parse_event(body, STAMP)
    assert event is not None
    assert event.job == Job(id="7", status="in_progress", runner="r1", since=STAMP)
    assert event.labels == {"self-hosted", "linux"}
    assert (event.repository, event.organization) == ("acme/web", "acme")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"action":"\xff\xfe"}', id="not UTF-8"),
        pytest.param(b'{"workflow_job":' * 100_000, id="nested too deeply"),
    ],
)
def test_unreadable_deliveries_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidDelivery):
        parse_event(body, STAMP)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidDelivery):
        parse_event(body, STAMP)
