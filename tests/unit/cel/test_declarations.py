"""Signatures are text, read when a function is first called: all of them must be readable."""

import pytest

from quarterdeck.cel import library
from quarterdeck.cel.checker.declarations import get_overloads, is_declared
from quarterdeck.cel.library.dispatch import OPERATORS


@pytest.mark.parametrize("function", sorted({*OPERATORS, *library.get_functions()} - {"_?._"}))
def test_every_function_that_exists_is_declared(function: str) -> None:
    assert get_overloads(function)


def test_an_unknown_function_is_not_declared() -> None:
    assert not is_declared("nosuch")


def test_members_take_their_target_as_the_first_parameter() -> None:
    (overload,) = get_overloads("startsWith")
    assert overload.member
    assert [str(part) for part in overload.params] == ["string", "string"]
