"""What newer releases of Kubernetes answer otherwise; the answers are those of its 1.36."""

from typing import Any

import pytest

from quarterdeck import cel

_USERS = ("cost.estimate", "library.strings", "library.template")


def _ask(text: str) -> tuple[Any, int]:
    program = cel.Environment({}).compile(text, result=None)
    return program.evaluate({}), program.estimated_cost.max


@pytest.fixture
def _release_136(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in _USERS:
        monkeypatch.setattr(f"quarterdeck.cel.{module}.has_feature", lambda _: True)


@pytest.mark.usefixtures("_release_136")
@pytest.mark.parametrize(
    ("text", "value", "cost"),
    [
        ("'%e'.format([1.5])", "1.500000×10⁰⁰", 11),
        ("''.lastIndexOf('a')", -1, 0),
        ("dyn('abc').contains('b')", True, 2),
    ],
)
def test_release_136_knows_sizes_of_dyn_and_prints_without_spaces(
    text: str, value: object, cost: int
) -> None:
    assert _ask(text) == (value, cost)


def test_release_132_does_not() -> None:
    assert _ask("'%e'.format([1.5])") == ("1.500000\u202f×\u202f10⁰⁰", 11)
    assert _ask("dyn('abc').contains('b')") == (True, 1844674407370955265)
