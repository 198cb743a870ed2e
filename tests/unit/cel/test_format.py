"""`format`: texts, refusals when an expression is compiled, and refusals when it runs.

The answers are those of kube-apiserver's own CEL, release 1.32, for the same expressions.
"""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.interpreter.interpret import interpret

_DATA: dict[str, Any] = {"any": {"n": 1, "s": "x", "flag": True}}
_ENVIRONMENT = cel.Environment({"any": cel.DYN})
_REFUSED = "error during formatting: "
_TEXT_REFUSED = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps, was given "
)
_PRECISION = "could not parse formatting clause: error while parsing precision: "
_DIGITS = "error while converting precision to integer: strconv.Atoi: parsing "


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'%d %d'.format([-1, 2u])", "-1 2"),
        ("'%f'.format([2.5])", "2.500000"),
        ("'%.0f %.1f %.2f'.format([2.5, 0.25, 1.005])", "2 0.2 1.00"),
        ("'%f'.format([-1234567.5])", "-1,234,567.500000"),
        ("'%f %f'.format([-0.0, -0.0000001])", "0.000000 -0.000000"),
        ("'%f %f'.format([double('Infinity'), double('-inf')])", "∞ -∞"),
        ("'%f %f %f'.format(['NaN', 'Infinity', '-Infinity'])", "NaN ∞ -∞"),
        ("'%e'.format([3.14159])", "3.141590\u202f×\u202f10⁰⁰"),
        ("'%e'.format([-0.00012])", "-1.200000\u202f×\u202f10⁻⁰⁴"),
        ("'%e'.format([1e100])", "1.000000\u202f×\u202f10¹⁰⁰"),
        ("'%.20e'.format([1.5])", "     1.500000\u202f×\u202f10⁰⁰"),
        ("'%e'.format([double('-Infinity')])", "    -∞"),
        ("'%b %b %b %b'.format([true, false, 5u, -5])", "1 0 101 -101"),
        ("'%o %o'.format([8u, -8])", "10 -10"),
        ("'%x %X %x'.format([255u, 255, -10])", "ff FF -a"),
        ("'%x %X %x'.format(['hello', 'hello', b'hello'])", "68656c6c6f 68656C6C6F 68656c6c6f"),
        ("'%s %s %s'.format([1e21, 1.5e-7, 2.0])", "1e+21 1.5e-07 2"),
        ("'%s %s %s'.format([double('NaN'), double('inf'), double('-inf')])", "NaN +Inf -Inf"),
        ("'%s %s'.format([[1.5], [double('NaN'), double('-inf')]])", '[1.500000] ["NaN", "-Inf"]'),
        ("'%s %s'.format([b'hello', [b'hello']])", 'hello [b"hello"]'),
        ("'%s'.format([[null, 'a\"', 1u, true, type(1)]])", '[null, "a\\"", 1, true, int]'),
        ("'%s'.format([[duration('1s'), timestamp('2020-01-01T00:00:00Z')]])",
         '[duration("1s"), timestamp("2020-01-01T00:00:00Z")]'),
        ("'%s'.format([{'b': 1, 'a': [2]}])", '{"a":[2], "b":1}'),
        ("'%s%%'.format([null])", "null%"),
        ("'%.5s %.3d'.format(['abcdefghi', 1])", "abcdefghi 1"),
    ],
)  # fmt: skip
def test_values_are_shown_as_kubernetes_shows_them(text: str, value: str) -> None:
    program = _ENVIRONMENT.compile(text, result=None)
    assert program.evaluate(_DATA) == value
    assert interpret(program._tree, _DATA) == value


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("'%d'.format([1.5])", 14, "decimal clause can only be used on integers, was given double"),
        ("'%d'.format([double('NaN')])", 20,
         "decimal clause can only be used on integers, was given double"),
        ("'%o'.format(['x'])", 14, "octal clause can only be used on integers, was given string"),
        ("'%f'.format([2])", 14, "fixed-point clause can only be used on doubles, was given int"),
        ("'%e'.format([true])", 14,
         "scientific clause can only be used on doubles, was given bool"),
        ("'%b'.format([1.0])", 14,
         "only integers and bools can be formatted as binary, was given double"),
        ("'%X'.format([true])", 14,
         "only integers, byte buffers, and strings can be formatted as hex, was given bool"),
        ("'%s'.format([optional.of(1)])", 25, f"{_TEXT_REFUSED}optional_type"),
        ("'%s'.format([[1, optional.of(1)]])", 29, f"{_TEXT_REFUSED}optional_type"),
        ("'%s'.format([{'a': quantity('1')}])", 28, f"{_TEXT_REFUSED}kubernetes.Quantity"),
        ("'%d %s'.format(['x', optional.of(1)])", 17,
         "decimal clause can only be used on integers, was given string"),
    ],
)  # fmt: skip
def test_an_argument_that_no_clause_can_show_is_refused_where_it_stands(
    text: str, column: int, message: str
) -> None:
    _expect_refusal(text, column, _REFUSED + message)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("'%z'.format([1])", 12,
         'could not parse formatting clause: unrecognized formatting clause "z"'),
        ("'%'.format([1])", 11, "unexpected end of string"),
        ("'%s'.format([])", 12, "index 0 out of range"),
        ("'%s %s'.format(['a'])", 15, "index 1 out of range"),
        ("'%s'.format(['a', 'b'])", 12,
         "too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%%'.format(['a'])", 12,
         "too many arguments supplied to string.format (expected 0, got 1)"),
        ("'%.3'.format([1.5])", 13, f"{_PRECISION}could not find end of precision specifier"),
        ("'%.f'.format([1.5])", 13, f'{_PRECISION}{_DIGITS}"": invalid syntax'),
        ("'%.99999999999999999999f'.format([1.5])", 33,
         f'{_PRECISION}{_DIGITS}"99999999999999999999": value out of range'),
    ],
)  # fmt: skip
def test_a_format_that_can_never_be_filled_is_refused(text: str, column: int, message: str) -> None:
    _expect_refusal(text, column, message)


def _expect_refusal(text: str, column: int, message: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        _ENVIRONMENT.compile(text, result=None)
    assert [(issue.column, issue.message) for issue in caught.value.issues] == [(column, message)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'%f'.format([any.n])",
         f"{_REFUSED}fixed-point clause can only be used on doubles, was given int"),
        ("'%e'.format(['x'])",
         f"{_REFUSED}scientific clause can only be used on doubles, was given string"),
        ("'%d'.format([any.s])",
         f"{_REFUSED}decimal clause can only be used on integers, was given string"),
        ("'%x'.format([any.flag])", f"{_REFUSED}only integers, byte buffers, and strings can be "
         "formatted as hex, was given bool"),
        ("'%b'.format([any.s])",
         f"{_REFUSED}only integers and bools can be formatted as binary, was given string"),
        ("'%s'.format([dyn(optional.of(1))])", f"{_REFUSED}{_TEXT_REFUSED}optional_type"),
        ("'%s'.format([[dyn(optional.of(1))]])",
         f"{_REFUSED}no formatting function for optional_type"),
        (r"'%s'.format([b'\xff'])", f'{_REFUSED}could not convert argument '
         '"invalid UTF-8 in bytes, cannot convert to string" to string'),
        ("(any.s + '%').format([1])", "unexpected end of string"),
        ("(any.s + '%').format([])", "index 0 out of range"),
        ("(any.s + '%.').format([1])", f"{_PRECISION}could not find end of precision specifier"),
        ("(any.s + '%é').format([1])",
         'could not parse formatting clause: unrecognized formatting clause "Ã"'),
        ("'%s'.format(any.n)", "no such overload: format(string, int)"),
        ("'%s'.format([{1.5: 1}])",
         "error during formatting: no formatting function for map key of type double"),
    ],
)  # fmt: skip
def test_a_value_that_turns_out_wrong_is_an_error(text: str, message: str) -> None:
    program = _ENVIRONMENT.compile(text, result=None)
    with pytest.raises(cel.EvaluationError) as caught:
        program.evaluate(_DATA)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'%.1000000000f'.format([1.5])", "%!(NOVERB)"),
        ("'%.1000000000e'.format([1.5])", "%!(NOVERB)"),
        ("'%.300f'.format([1.5])", "1.5" + "0" * 43),
        ("'%.1000000e'.format([1.5]).size()", 16960),
    ],
)
def test_a_huge_precision_makes_no_huge_text(text: str, value: object) -> None:
    assert _ENVIRONMENT.compile(text, result=None).evaluate(_DATA) == value
