from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.quantity import Notation, Quantity, QuantityError

SUFFIXES = {
    **{"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18},
}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A text of the grammar and the exact number it means."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    whole = draw(st.from_regex(r"[0-9]{1,6}", fullmatch=True))
    fraction = draw(st.from_regex(r"(\.[0-9]{0,6})?", fullmatch=True))
    number = Fraction(int(whole)) + (
        Fraction(int(fraction[1:] or "0"), 10 ** len(fraction[1:])) if fraction else 0
    )
    if sign == "-":
        number = -number
    kind = draw(st.sampled_from(["decimal", "binary", "exponent"]))
    if kind == "decimal":
        suffix = draw(st.sampled_from(sorted(SUFFIXES)))
        scale = Fraction(10) ** SUFFIXES[suffix]
    elif kind == "binary":
        suffix = draw(st.sampled_from(sorted(BINARY)))
        scale = Fraction(1024) ** BINARY[suffix]
    else:
        exponent = draw(st.integers(-9, 9))
        suffix = f"e{exponent}"
        scale = Fraction(10) ** exponent
    return f"{sign}{whole}{fraction}{suffix}", number * scale


@given(written())
def test_every_form_of_the_grammar_means_its_number(pair: tuple[str, Fraction]) -> None:
    text, number = pair
    quantity = Quantity.parse(text)
    limit = 2**63 - 1
    if abs(number) > limit:
        assert abs(Fraction(quantity.nano, 10**9)) == limit
        return
    difference = abs(Fraction(quantity.nano, 10**9)) - abs(number)
    assert 0 <= difference < Fraction(1, 10**9)


@given(written())
def test_the_canonical_text_reads_back_equal_and_is_a_fixed_point(
    pair: tuple[str, Fraction],
) -> None:
    quantity = Quantity.parse(pair[0])
    again = Quantity.parse(str(quantity))
    if quantity.notation is not Notation.BINARY:
        assert again == quantity
    assert str(Quantity.parse(str(again))) == str(again)


@given(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_arithmetic_is_exact(left: int, right: int) -> None:
    assert (Quantity(left) + Quantity(right)).nano == left + right
    assert (Quantity(left) - Quantity(right)).nano == left - right
    assert (Quantity(left) < Quantity(right)) == (left < right)
    assert -Quantity(left) == Quantity(-left)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1500", "1500"),
        ("1000", "1k"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1.1Ki", "1127"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("1E3", "1e3"),
        ("1E", "1E"),
        ("1e-3", "1e-3"),
        ("0.1n", "1n"),
        ("-0.0000000001", "-1n"),
        ("+1.5k", "1500"),
        ("9999999999999999999999", "9223372036854775807"),
    ],
)
def test_texts_become_canonical_as_in_kubernetes(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 ", "i", "1i", "1ki", "1e", "1e+", "--1", "1.2.3", "1Eii", "1mi", "0x1", "１"],
)
def test_text_that_is_not_a_quantity_is_refused_and_shown(text: str) -> None:
    with pytest.raises(QuantityError, match="quantit"):
        Quantity.parse(text)


def test_rounding_goes_away_from_zero() -> None:
    assert Quantity.parse("1.1").as_int() == 2
    assert Quantity.parse("-1.1").as_int() == -2
    assert Quantity.parse("0.0001").as_milli() == 1
    assert Quantity.parse("2").is_integer()
    assert not Quantity.parse("2500m").is_integer()
    assert Quantity.parse("2500m").as_float() == 2.5


def test_a_sum_keeps_the_notation_of_its_first_part() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1024Mi")) == "2Gi"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert str(3 * Quantity.parse("100m")) == "300m"


def test_a_quantity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Quantity.of(1).nano = 2


def test_quantities_are_values() -> None:
    half, zero = Quantity.parse("500m"), Quantity.parse("0")
    assert Quantity.parse("0.50") == half and {half: 1}[Quantity.parse("0.5")] == 1
    assert (repr(half), bool(half), bool(zero)) == ("Quantity('500m')", True, False)
    assert [each.sign() for each in (-half, zero, half)] == [-1, 0, 1]
    with pytest.raises(QuantityError):
        Quantity.parse("1e9999999999999")


def test_digits_beyond_any_use_are_read_at_once() -> None:
    assert Quantity.parse("9" * 5000) == Quantity.parse("9" * 101)
    assert Quantity.parse("0" * 5000 + "5") == Quantity.of(5)
    assert Quantity.parse("0." + "0" * 5000 + "1") == Quantity.parse("1n")
    assert Quantity.parse("1." + "0" * 5000) == Quantity.of(1)
    with pytest.raises(QuantityError):
        Quantity.parse("1e" + "9" * 5000)


@pytest.mark.parametrize(
    ("text", "rounded"),
    [("500u", "1m"), ("1000100u", "1001m"), ("-500u", "-1m"), ("1e-9", "1e-3"), ("1Gi", "1Gi")],
)
def test_amounts_are_rounded_to_thousandths_away_from_zero(text: str, rounded: str) -> None:
    assert str(Quantity.parse(text).round_to_milli()) == rounded
