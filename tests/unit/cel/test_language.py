"""What the language means: tables of expressions and values.

Every row is run by the compiled code and by the interpreter, and both must say the same.
"""

import math
from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.interpreter.interpret import interpret
from quarterdeck.cel.types import Type
from quarterdeck.cel.values import NONE, SECOND, Duration, Optional, Timestamp, UInt

_DATA: dict[str, Any] = {
    "i": 42,
    "text": "abc",
    "nums": [1, 2, 3],
    "pairs": {"a": 1, "b": 2},
    "any": {"n": 1, "s": "x", "deep": {"k": [True, None]}, "null": None},
}
_ENVIRONMENT = cel.Environment(
    {
        "i": cel.INT,
        "text": cel.STRING,
        "nums": cel.list_of(cel.INT),
        "pairs": cel.map_of(cel.STRING, cel.INT),
        "any": cel.DYN,
    }
)


def _value(text: str) -> Any:
    program = _ENVIRONMENT.compile(text, result=None)
    value = program.evaluate(_DATA)
    again = interpret(program._tree, _DATA)
    if isinstance(value, Optional):
        assert (value.present, value.value) == (again.present, again.value)
    elif not (isinstance(value, float) and math.isnan(value)):
        assert value == again and type(value) is type(again)
    return value


def _error(text: str) -> str:
    program = _ENVIRONMENT.compile(text, result=None)
    with pytest.raises(cel.EvaluationError) as caught:
        program.evaluate(_DATA)
    with pytest.raises(cel.EvaluationError) as again:
        interpret(program._tree, _DATA)
    assert str(caught.value) == str(again.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1", -1),
        ("0x55555555", 0x55555555),
        ("-0x2A", -42),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0u", UInt(0)),
        ("0xFu", UInt(15)),
        ("18446744073709551615u", UInt(2**64 - 1)),
        ("1.5", 1.5),
        (".5e3", 500.0),
        ("2e-2", 0.02),
        ("-2.3e+1", -23.0),
        ("''", ""),
        (r"'\x41\u00e9\U0001F600\101'", "Aé😀A"),
        (r"'\a\b\f\n\r\t\v\\\'\"\?\`'", "\a\b\f\n\r\t\v\\'\"?`"),
        (r"r'\n\d'", r"\n\d"),
        ('R"a\\b"', "a\\b"),
        ('"""two\nlines "quoted" """', 'two\nlines "quoted" '),
        ("'''it's'''", "it's"),
        (r"b'\xffa\303é'", b"\xffa\xc3\xc3\xa9"),
        (r"br'\x41'", b"\\x41"),
        ("true", True),
        ("null", None),
        ("[1, 2,]", [1, 2]),
        ("{'k': 1,}", {"k": 1}),
        ("[]", []),
        ("{}", {}),
        ("1 // a comment\n + 1", 2),
    ],
)
def test_literals_evaluate_to_their_values(text: str, value: Any) -> None:
    found = _value(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 % 3", 1),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("--1", 1),
        ("-(-5)", 5),
        ("5u + 3u", UInt(8)),
        ("7u / 2u", UInt(3)),
        ("7u % 4u", UInt(3)),
        ("2u * 3u - 1u", UInt(5)),
        ("1.0 / 0.0", math.inf),
        ("-1.0 / 0.0", -math.inf),
        ("1.5 + 1.5", 3.0),
        ("0.1 * 3.0", 0.1 * 3.0),
        ("2.0 - 0.5", 1.5),
        ("-(1.5)", -1.5),
        ("'a' + 'b'", "ab"),
        ("b'a' + b'b'", b"ab"),
        ("[1] + [2, 3]", [1, 2, 3]),
        ("i + size(nums)", 45),
        ("1 < 2 ? 'yes' : 'no'", "yes"),
        ("false ? 1 : true ? 2 : 3", 2),
    ],
)
def test_arithmetic_evaluates_to_exact_values(text: str, value: Any) -> None:
    assert _value(text) == value


def test_zero_by_zero_is_not_a_number() -> None:
    assert math.isnan(_value("0.0 / 0.0"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9223372036854775807 + 1", "integer overflow"),
        ("-9223372036854775808 - i", "integer overflow"),
        ("5000000000 * 5000000000", "integer overflow"),
        ("-(-9223372036854775808)", "integer overflow"),
        ("-9223372036854775808 / -1", "integer overflow"),
        ("18446744073709551615u + 1u", "unsigned integer overflow"),
        ("1u - 2u", "unsigned integer overflow"),
        ("i / 0", "division by zero"),
        ("i % 0", "modulus by zero"),
        ("1u / 0u", "division by zero"),
        ("pairs.c", "no such key: c"),
        ("pairs['c']", "no such key: c"),
        ("nums[3]", "index out of bounds: 3"),
        ("nums[-1]", "index out of bounds: -1"),
        ("any.missing", "no such key: missing"),
        ("any.s + 1", "no such overload"),
        ("any.n.x", "no such key: x"),
        ("any.n && true", "no such overload"),
        ("int('x')", "type conversion error from 'string' to 'int'"),
        (
            "duration('x' + text)",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("int(1e99)", "integer overflow"),
        ("uint(-1)", "unsigned integer overflow"),
        ("string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
        ("optional.none().value()", "optional.none() dereference"),
        ("text.matches('(' + text)", "error parsing regexp: missing closing ): `(abc`"),
    ],
)
def test_evaluation_errors_are_worded_as_cel_go_words_them(text: str, message: str) -> None:
    assert _error(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "1 < 2 && 2u < 3u && 1.0 < 1.5 && 'a' < 'b' && false < true && b'a' < b'b'",
        "1 < 1.5 && 1u < 2 && 2.5 > 2u && 3 >= 3.0 && 1u <= 1.0",
        "dyn(1) == 1.0 && dyn(1u) == 1 && dyn(1.0) == 1u",
        "dyn(1) != '1' && dyn(true) != 1 && dyn(null) != 0 && dyn('') != null",
        "[1, 2] == [1, 2] && [1, 2] != [2, 1] && dyn([1]) == [1.0]",
        "{'a': 1} == {'a': 1} && {'a': 1} != {'a': 2} && {'a': 1} != {'b': 1}",
        "'é' > 'z' && '😀' > '\uffff'",
        "timestamp('2020-01-01T00:00:00Z') < timestamp('2020-01-01T00:00:00.000000001Z')",
        "duration('1m') > duration('59s') && duration('1h') == duration('60m')",
        "type(1) == int && type(1u) == uint && type('') == string && type([]) == list",
        "type({}) == map && type(null) == null_type && type(int) == type && type(b'') == bytes",
        "type(duration('1s')) == google.protobuf.Duration && type(1.5) == double",
        "dyn(9223372036854775807) >= 9223372036854775808.0",
        "2 in nums && !(9 in nums) && 'a' in pairs && !('z' in pairs) && dyn(1.0) in nums",
        "any.deep.k[0] && any.deep.k[1] == null && any['n'] == 1 && 'deep' in any",
        "has(any.n) && !has(any.zzz) && has(pairs.a) && !has(pairs.z) && has({'a': 1}.a)",
    ],
)
def test_comparisons_hold(text: str) -> None:
    assert _value(text) is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true || 1 / 0 > 0", True),
        ("1 / 0 > 0 || true", True),
        ("false && 1 / 0 > 0", False),
        ("1 / 0 > 0 && false", False),
        ("any.missing == 1 || true", True),
        ("true ? 1 : 1 / 0", 1),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("![0, 2].all(x, 1 / x == 1)", True),
        ("any.s || true", True),
        ("any.n && false", False),
    ],
)
def test_errors_are_absorbed_when_the_other_side_decides(text: str, value: Any) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0 > 0 || false", "division by zero"),
        ("false || 1 / 0 > 0", "division by zero"),
        ("1 / 0 > 0 && true", "division by zero"),
        ("1 / 0 > 0 || 1 % 0 > 0", "division by zero"),
        ("[0, 2].exists(x, 1 / x == 1)", "division by zero"),
        ("[0, 1].all(x, 1 / x == 1)", "division by zero"),
        ("[1, 0].exists_one(x, 1 / x == 1)", "division by zero"),
        ("1 / 0 > 0 ? 1 : 2", "division by zero"),
    ],
)
def test_errors_stay_when_nothing_decides(text: str, message: str) -> None:
    assert _error(text) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[].all(x, false)", True),
        ("[].exists(x, true)", False),
        ("[1, 2, 3].exists_one(x, x > 2)", True),
        ("[1, 2, 3].exists_one(x, x > 1)", False),
        ("[1, 2, 3].existsOne(x, x == 1)", True),
        ("pairs.all(k, pairs[k] > 0)", True),
        ("pairs.exists(k, k == 'b')", True),
        ("nums.map(x, x * x)", [1, 4, 9]),
        ("nums.map(x, x > 1, x * 10)", [20, 30]),
        ("nums.filter(x, x % 2 == 1)", [1, 3]),
        ("pairs.map(k, k + '!')", ["a!", "b!"]),
        ("pairs.filter(k, pairs[k] == 2)", ["b"]),
        ("[[1, 2], [3]].map(l, l.map(x, x + size(l)))", [[3, 4], [4]]),
        ("[1].map(x, [2].map(y, [3].map(x, x + y)))", [[[5]]]),
        ("nums.exists(x, nums.all(y, x >= y))", True),
        ("nums.all(i, v, v == i + 1)", True),
        ("pairs.exists(k, v, k == 'a' && v == 1)", True),
        ("nums.existsOne(i, v, i == 0)", True),
        ("nums.transformList(i, v, i * v)", [0, 2, 6]),
        ("nums.transformList(i, v, v > 1, i)", [1, 2]),
        ("pairs.transformMap(k, v, v + 1)", {"a": 2, "b": 3}),
        ("pairs.transformMap(k, v, v > 1, k)", {"b": "b"}),
        ("pairs.transformMapEntry(k, v, {k + k: v})", {"aa": 1, "bb": 2}),
        ("any.deep.k.map(x, type(x) == bool)", [True, False]),
        ("any.deep.all(k, k == 'k')", True),
    ],
)
def test_macros_evaluate_to_their_values(text: str, value: Any) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("optional.of(1).value()", 1),
        ("optional.of(1).hasValue() && !optional.none().hasValue()", True),
        ("optional.none().orValue(7)", 7),
        ("optional.of(1).orValue(1 / 0)", 1),
        ("optional.none().or(optional.of(2)).value()", 2),
        ("optional.ofNonZeroValue('').hasValue()", False),
        ("optional.ofNonZeroValue([0]).hasValue()", True),
        ("pairs.?a.orValue(0) + pairs.?z.orValue(10)", 11),
        ("any.?deep.?k[?0].orValue(false)", True),
        ("any.?deep.?nothing.?k.hasValue()", False),
        ("nums[?1].orValue(0) + nums[?9].orValue(0)", 2),
        ("pairs[?'a'].optMap(v, v + 1).orValue(0)", 2),
        ("pairs[?'z'].optMap(v, v + 1).orValue(0)", 0),
        ("pairs[?'a'].optFlatMap(v, optional.of(v * 3)).value()", 3),
        ("[?pairs.?a, ?pairs.?z, 5]", [1, 5]),
        ("{1.5: 'a'}[1.5]", "a"),
        ("null in {null: 1} && !(dyn(null) in pairs)", True),
        ("{'a': 1, 'a': 2}.a + size({'a': 1, 'a': 2})", 3),
        ("{0.0: 1, -0.0: 2}.all(k, k == 0.0)", True),
        ("{?'a': pairs.?a, ?'z': pairs.?z}", {"a": 1}),
        ("optional.of({'c': {}}).c.missing.orValue('default')", "default"),
        ("optional.of(1) == optional.of(1) && optional.of(1) != optional.none()", True),
    ],
)
def test_optionals_evaluate_to_their_values(text: str, value: Any) -> None:
    assert _value(text) == value


def test_an_absent_optional_is_a_value_of_its_own() -> None:
    assert _value("optional.none()") is NONE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int('42') + int(2.9) + int(3u) + int(-2.9)", 45),
        ("uint('7') + uint(2) + uint(3.9)", UInt(12)),
        ("double('1.5') + double(2) + double(1u)", 4.5),
        ("string(1) + string(1u) + string(true) + string(1.5) + string(b'x')", "11true1.5x"),
        ("string(1e6) + ' ' + string(123456.0) + ' ' + string(0.00001)", "1e+06 123456 1e-05"),
        ("string(1.0 / 0.0)", "+Inf"),
        ("bytes('é')", b"\xc3\xa9"),
        ("bool('true') && !bool('f')", True),
        ("size('é😀') + size(b'é')", 4),
        ("string(timestamp('2020-02-03T04:05:06.789+01:00'))", "2020-02-03T04:05:06.789+01:00"),
        ("int(timestamp('1970-01-01T00:01:00Z'))", 60),
        ("timestamp(60)", Timestamp(60 * SECOND)),
        ("duration('1h2m3.5s')", Duration(3_723_500_000_000)),
        ("string(duration('90m')) + string(duration('-1.5s'))", "5400s-1.5s"),
        ("timestamp('2020-01-01T00:00:00Z') - timestamp('2019-12-31T00:00:00Z')",
         Duration(86400 * SECOND)),
        ("timestamp('2020-01-01T00:00:00Z') + duration('1s') - duration('1s')",
         Timestamp(1577836800 * SECOND)),
        ("dyn(duration('1s')) + dyn(duration('1s'))", Duration(2 * SECOND)),
    ],
)  # fmt: skip
def test_conversions_evaluate_to_their_values(text: str, value: Any) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("getFullYear()", 2009),
        ("getMonth()", 1),
        ("getDate()", 13),
        ("getDayOfMonth()", 12),
        ("getDayOfWeek()", 5),
        ("getDayOfYear()", 43),
        ("getHours()", 23),
        ("getMinutes()", 31),
        ("getSeconds()", 30),
        ("getMilliseconds()", 123),
        ("getHours('Australia/Sydney')", 10),
        ("getDate('02:00')", 14),
        ("getMinutes('-02:30')", 1),
    ],
)
def test_parts_of_a_timestamp_are_those_of_cel(call: str, value: int) -> None:
    assert _value(f"timestamp('2009-02-13T23:31:30.123Z').{call}") == value


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("getHours()", 1),
        ("getMinutes()", 62),
        ("getSeconds()", 3723),
        ("getMilliseconds()", 3723004),
    ],
)
def test_durations_are_read_in_whole_units(call: str, value: int) -> None:
    assert _value(f"duration('1h2m3s4ms').{call}") == value


def test_an_unknown_zone_is_an_error() -> None:
    assert _error("timestamp(0).getHours('Nowhere/At')") == "unknown time zone Nowhere/At"


def test_types_are_values() -> None:
    assert _value("type(i)") == cel.INT
    assert isinstance(_value("[int, type(i)][0]"), Type)


def test_a_missing_variable_is_an_evaluation_error() -> None:
    program = cel.Environment({"self": cel.INT}).compile("self > 1")
    with pytest.raises(cel.EvaluationError, match=r"no such attribute\(s\): self"):
        program.evaluate({})
