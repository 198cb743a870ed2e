import pytest

from quarterdeck.kit.digits import parse_digits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        pytest.param("", None, id="empty"),
        pytest.param("-1", None, id="sign"),
        pytest.param(" 1", None, id="space"),
        pytest.param("1_000", None, id="as in Python's source"),
        pytest.param("²", None, id="a digit that int refuses"),
        pytest.param("٣", None, id="a digit that int accepts"),
        pytest.param("9" * 5000, None, id="more digits than int accepts"),
    ],
)
def test_only_ascii_digits_that_fit_are_a_number(text: str, expected: int | None) -> None:
    assert parse_digits(text) == expected
