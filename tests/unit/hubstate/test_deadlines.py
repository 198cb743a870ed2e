"""The times at which keys may have expired."""

from quarterdeck.hubstate.embedded.deadlines import Deadlines


def test_a_key_that_is_written_often_is_noted_once() -> None:
    deadlines = Deadlines()
    for number in range(1000):
        deadlines.note("events:a", 86_400.0 + 30 * number)
    assert len(deadlines) == 1
    assert list(deadlines.take_due(86_399.0)) == []
    assert list(deadlines.take_due(86_400.0)) == ["events:a"]
    assert len(deadlines) == 0


def test_an_earlier_time_of_a_key_counts() -> None:
    deadlines = Deadlines()
    for key, at in (("a", 50.0), ("b", 20.0), ("a", 10.0)):
        deadlines.note(key, at)
    assert list(deadlines.take_due(30.0)) == ["a", "b"]
    assert list(deadlines.take_due(60.0)) == []
