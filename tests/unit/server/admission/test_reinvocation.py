"""Who is asked again about a write."""

from typing import Any

from quarterdeck.server.admission.reinvocation import Invocations, Reinvocation

Object = dict[str, Any]


def test_there_is_a_second_round_only_if_one_is_needed_and_never_a_third() -> None:
    rounds = Reinvocation()
    assert not rounds.start_second_round()
    rounds.is_needed = True
    assert rounds.start_second_round()
    assert not rounds.start_second_round()


def test_those_before_a_change_are_due_and_those_after_it_are_not() -> None:
    invocations, value = Invocations(), {"a": 1}
    invocations.add("first")
    invocations.require_previous()
    invocations.add("second")
    invocations.end(value)
    invocations.begin(value)
    assert invocations.is_due("first")
    assert not invocations.is_due("second")


def test_change_between_the_rounds_concerns_all() -> None:
    invocations = Invocations()
    value: Object = {"a": 1}
    invocations.add("first")
    invocations.end(value)
    value["a"] = 2  # a built-in plugin of the second round, in place
    invocations.begin(value)
    assert invocations.is_due("first")


def test_nobody_is_due_who_did_not_ask_for_it() -> None:
    invocations = Invocations()
    invocations.require_previous()
    invocations.end({"a": 1})
    invocations.begin({"a": 2})
    assert not invocations.is_due("anybody")


def test_plugins_are_kept_apart() -> None:
    rounds = Reinvocation()
    rounds.get("one").add("x")
    rounds.get("one").require_previous()
    assert rounds.get("one").is_due("x")
    assert not rounds.get("two").is_due("x")
