"""Event correlation: aggregation, counting, spam filter, series."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.runtime.recorder.correlator import (
    COMBINED,
    Correlator,
    EventRecord,
    Limits,
    SeriesTracker,
)


def record(
    message: str = "m", *, name: str = "a", reason: str = "R", type_: str = "Normal"
) -> EventRecord:
    return EventRecord("v1", "Pod", "ns", name, f"uid-{name}", type_, reason, message)


def correlator(limits: Limits | None = None) -> Correlator:
    numbers = itertools.count()
    return Correlator(
        lambda each: f"{each.name}.{next(numbers)}", random.Random(0), limits or Limits()
    )


def test_a_repeated_event_is_counted_under_its_first_name() -> None:
    subject = correlator()
    first = subject.correlate(record(), 0)
    second = subject.correlate(record(), 5)
    assert first is not None
    assert second is not None
    assert (first.times, first.is_update) == (1, False)
    assert (second.times, second.is_update) == (2, True)
    assert first.name == second.name
    assert second.first_at == 0


def test_nine_similar_messages_pass_and_the_tenth_is_combined() -> None:
    subject = correlator()
    sent = [subject.correlate(record(f"m{n}"), n) for n in range(12)]
    assert all(each is not None for each in sent)
    texts = [each.message for each in sent if each is not None]
    assert texts[:9] == [f"m{n}" for n in range(9)]
    assert [text.startswith(COMBINED) for text in texts[9:]] == [True] * 3
    combined = [each for each in sent[9:] if each is not None]
    assert len({each.name for each in combined}) == 1
    assert [each.times for each in combined] == [1, 2, 3]


def test_after_ten_quiet_minutes_messages_stand_alone_again() -> None:
    subject = correlator()
    for n in range(12):
        subject.correlate(record(f"m{n}"), n)
    later = subject.correlate(record("new"), 700)
    assert later is not None
    assert later.message == "new"


def test_counts_rise_even_for_what_the_spam_filter_drops() -> None:
    subject = correlator()
    sent = [subject.correlate(record(), 0) for _ in range(40)]
    assert sum(each is not None for each in sent) == 25
    later = subject.correlate(record(), 300)
    assert later is not None
    assert later.times == 41


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 20), st.integers(0, 400)
        ),
        max_size=200,
    )
)
def test_requests_per_object_are_bounded(
    stream: list[tuple[str, str, int, int]],
) -> None:
    subject, now = correlator(), 0.0
    requests = {"a": 0, "b": 0}
    for name, reason, message, pause in stream:
        now += pause
        sent = subject.correlate(record(f"m{message}", name=name, reason=reason), now)
        requests[name] += sent is not None
    assert all(count <= 25 + now / 300 + 1 for count in requests.values())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=80))
def test_counts_equal_a_simple_reference(stream: list[tuple[str, int]]) -> None:
    subject = correlator(Limits(burst=10_000, similar_limit=10_000))
    seen: dict[tuple[str, int], int] = {}
    for now, (name, message) in enumerate(stream):
        seen[name, message] = seen.get((name, message), 0) + 1
        sent = subject.correlate(record(f"m{message}", name=name), now)
        assert sent is not None
        assert sent.times == seen[name, message]
        assert sent.is_update is (seen[name, message] > 1)


def test_a_series_is_created_begun_counted_and_finished() -> None:
    tracker = SeriesTracker(lambda each: f"{each.name}.1")
    first = tracker.observe(record("one"), 0)
    second = tracker.observe(record("two"), 1)  # the record's text does not tell events apart
    assert first is not None
    assert second is not None
    assert (first.times, second.times) == (1, 2)
    assert [tracker.observe(record(), n) for n in range(2, 50)] == [None] * 48
    assert tracker.tick(60) == []
    last = tracker.tick(500)
    assert [each.times for each in last] == [50]
    assert tracker.tick(1000) == []
    again = tracker.observe(record(), 1001)
    assert again is not None
    assert again.times == 1


def test_a_long_series_is_refreshed_every_half_hour() -> None:
    tracker = SeriesTracker(lambda each: each.name)
    patches = []
    for minute in range(70):
        now = minute * 60.0
        if tracker.observe(record(), now) is not None:
            patches.append(minute)
        patches += [minute for _ in tracker.tick(now)]
    assert patches == [0, 1, 32, 63]


def test_only_the_latest_objects_are_remembered() -> None:
    subject = correlator(Limits(cache_size=2))
    for name in ("a", "b", "a", "c"):
        subject.correlate(record(name=name), 0)
    kept, dropped = subject.correlate(record(name="a"), 1), subject.correlate(record(name="b"), 1)
    assert kept is not None and dropped is not None
    assert (kept.times, dropped.times) == (3, 1)


def test_only_the_latest_series_are_remembered() -> None:
    tracker = SeriesTracker(lambda each: each.name, size=2)
    for name in ("a", "b", "c"):
        tracker.observe(record(name=name), 0)
    again, known = tracker.observe(record(name="a"), 1), tracker.observe(record(name="c"), 1)
    assert again is not None and known is not None
    assert (again.times, known.times) == (1, 2)
