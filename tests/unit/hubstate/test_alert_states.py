"""Since when rules hold: moments survive readings, and end with the condition."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.hubstate.alert_states import (
    AlertKey,
    advance,
    decode_states,
    is_due,
    plan_states,
)
from quarterdeck.hubstate.writes import SetValue

NOW = datetime(2026, 5, 1, tzinfo=UTC)
KEYS = st.sets(st.builds(AlertKey, st.sampled_from("ab"), st.sampled_from("xy"), st.text()))


@given(first=KEYS, second=KEYS)
def test_what_still_holds_keeps_its_moment(first: set[AlertKey], second: set[AlertKey]) -> None:
    before = {each.key: each for each in advance({}, first, NOW)}
    after = {each.key: each for each in advance(before, second, NOW + timedelta(minutes=1))}
    assert after.keys() == second
    for key, state in after.items():
        assert (state.since == "2026-05-01T00:00:00Z") is (key in first)


@given(holding=KEYS)
def test_states_come_back_from_the_store(holding: set[AlertKey]) -> None:
    states = advance({}, holding, NOW)
    write = plan_states("east", states, 600)
    assert isinstance(write, SetValue)
    assert (write.key, write.ttl_s) == ("cluster:east:alerts", 600)
    assert decode_states(write.value) == {each.key: each for each in states}


def test_a_rule_is_an_alert_after_it_has_held_long_enough() -> None:
    [state] = advance({}, [AlertKey("d/s", "r", "")], NOW)
    assert is_due(state, for_s=0, now=NOW)
    assert not is_due(state, for_s=60, now=NOW + timedelta(seconds=59))
    assert is_due(state, for_s=60, now=NOW + timedelta(seconds=60))


def test_what_cannot_be_read_counts_as_none() -> None:
    assert decode_states(None) == decode_states(b"{}") == decode_states(b"nonsense") == {}
