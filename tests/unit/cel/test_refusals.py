"""Texts and arguments that functions refuse, and the words of the refusal.

The answers are those of kube-apiserver's own CEL, release 1.32, for the same expressions.
"""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.interpreter.interpret import interpret

_DATA: dict[str, Any] = {
    "any": {
        "n": 1,
        "s": "x",
        "list": ["a", 1],
        "flag": True,
        "none": None,
        "mixed": ["a", 2],
        "falling": ["a", 2, 1],
        "maps": [{"a": 1}],
    }
}
_ENVIRONMENT = cel.Environment({"any": cel.DYN})
_PREFIX = "network address parse error during conversion from string: "
_PARSE_PREFIX = f"{_PREFIX}{_PREFIX}netip.ParsePrefix"


def _fail(text: str) -> str:
    program = _ENVIRONMENT.compile(text, result=None)
    with pytest.raises(cel.EvaluationError) as caught:
        program.evaluate(_DATA)
    with pytest.raises(cel.EvaluationError) as again:
        interpret(program._tree, _DATA)
    assert str(caught.value) == str(again.value)
    return str(caught.value)


def _run(text: str) -> Any:
    program = _ENVIRONMENT.compile(text, result=None)
    value = program.evaluate(_DATA)
    assert value == interpret(program._tree, _DATA)
    return value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'abc'.matches(any.n)", "no such overload"),
        ("'abc'.contains(any.n)", "no such overload"),
        ("'abc'.charAt(any.s)", "no such overload: charAt(string, string)"),
        ("'abc'.substring(any.s)", "no such overload: substring(string, string)"),
        ("'abc'.replace(any.s, any.n)", "no such overload: replace(string, string, int)"),
        ("'abc'.split('b', any.s)", "no such overload: split(string, string, string)"),
        ("'abc'.findAll('b', any.s)", "no such overload"),
        ("['a'].join(any.n)", "no such overload: join(list, int)"),
        ("any.list.join()", "join: invalid input: 1"),
        ("sets.contains([1], any.n)", "no such overload: sets.contains(list, int)"),
        ("sets.contains(any.n, [1])", "no such overload: sets.contains(int, list)"),
        ("sets.intersects([1], any.n)", "no such overload: sets.intersects(list, int)"),
        ("sets.equivalent([1], any.n)", "no such overload: sets.equivalent(list, int)"),
        (
            "quantity('1').isGreaterThan(any.n)",
            "no such overload: isGreaterThan(kubernetes.Quantity, int)",
        ),
        (
            "quantity('1').compareTo(any.s)",
            "no such overload: compareTo(kubernetes.Quantity, string)",
        ),
        ("quantity('1').add(any.s)", "no such overload: add(kubernetes.Quantity, string)"),
        ("cidr('10.0.0.0/8').containsIP(any.n)", "no such overload: containsIP(net.CIDR, int)"),
        ("cidr('10.0.0.0/8').containsIP('x')", "no such overload"),
        ("cidr('10.0.0.0/8').containsIP('::ffff:10.0.0.1')", "no such overload"),
        ("cidr('10.0.0.0/8').containsCIDR(any.n)", "no such overload: containsCIDR(net.CIDR, int)"),
        (
            "timestamp('2020-01-01T00:00:00Z').getHours(any.n)",
            "no such overload: getHours(google.protobuf.Timestamp, int)",
        ),
        ("format.named(any.n)", "no such overload: format.named(int)"),
        ("dyn(['a']).sum()", "no such overload: sum(list)"),
        ("dyn([[1]]).sum()", "no such overload: sum(list)"),
        ("any.flag + 1", "no such overload: _+_"),
        ("any.flag - 1", "no such overload: _-_"),
        ("1 + any.flag", "no such overload"),
        ("any.flag * 2", "no such overload: _*_"),
        ("any.list.contains('a')", "no such overload"),
        ("-any.list", "no such overload: -_"),
        ("size(any.n)", "no such overload: size"),
        ("any.mixed.sum()", "no such overload: sum(list)"),
        ("any.maps.isSorted()", "no such overload: isSorted(list)"),
        ("any.maps.min()", "no such overload: min(list)"),
        ("[any.s, any.n].map(x, x.lowerAscii())", "no such overload: lowerAscii(int)"),
        ("any.n.all(x, true)", "got 'types.Int', expected iterable type"),
        ("any.s.exists(x, true)", "got 'types.String', expected iterable type"),
        ("any.flag.map(x, x)", "got 'types.Bool', expected iterable type"),
        ("any.none < any.n", "no such overload: _<_"),
    ],
)
def test_arguments_of_other_types_have_no_overload(text: str, message: str) -> None:
    assert _fail(text) == message


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bool('yes')", "bool"),
        ("int('12x')", "int"),
        ("int('1_000')", "int"),
        ("int('9223372036854775808')", "int"),
        ("uint('-1')", "uint"),
        ("uint('+5')", "uint"),
        ("uint('18446744073709551616')", "uint"),
        ("double('abc')", "double"),
        ("double('')", "double"),
        ("double('.')", "double"),
        ("double(' 1')", "double"),
        ("double('+nan')", "double"),
        ("double('1__0')", "double"),
        ("double('1_')", "double"),
        ("double('1_.5')", "double"),
        ("double('0x1')", "double"),
        ("double('-1e400')", "double"),
        ("double('0x1p99999')", "double"),
    ],
)
def test_a_text_that_is_no_number_is_not_converted(text: str, wanted: str) -> None:
    assert _fail(text) == f"type conversion error from 'string' to '{wanted}'"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int('-9223372036854775808')", -(2**63)),
        ("int('+5')", 5),
        ("uint('18446744073709551615')", 2**64 - 1),
        ("bool('t') && !bool('FALSE')", True),
        ("double('1_000.5_0')", 1000.5),
        ("double('1e1_0')", 1e10),
        ("double('0x_1.8p1')", 3.0),
        ("double('-0X1P+3')", -8.0),
        ("double('5.') + double('.5')", 5.5),
        ("double('1e-400')", 0.0),
        ("double('-Infinity')", float("-inf")),
        ("string(double('nan'))", "NaN"),
        ("string(0.0001) + string(0.00001) + string(123456.0) + string(1e6)",
         "0.00011e-051234561e+06"),
        ("string(-0.0)", "-0"),
        ("uint(0.9) == 0u && uint(-0.0) == 0u", True),
    ],
)  # fmt: skip
def test_numbers_are_read_and_written_as_go_does(text: str, value: object) -> None:
    assert _run(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uint(-0.5)", "unsigned integer overflow"),
        ("uint(1.8446744073709552e19)", "unsigned integer overflow"),
        ("uint(double('NaN'))", "unsigned integer overflow"),
        ("int(double('NaN'))", "integer overflow"),
        ("int(9.3e18)", "integer overflow"),
        ("-9223372036854775808 / -1", "integer overflow"),
        ("-9223372036854775808 % -1", "integer overflow"),
        ("duration('9223372036s') + duration('1s')", "integer overflow"),
        ("duration('-9223372036s') - duration('1s')", "integer overflow"),
        ("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')",
         "integer overflow"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_errors(text: str, message: str) -> None:
    assert _fail(text) == message


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("x", 'IP Address "x" parse error during conversion from string: '
         'ParseAddr("x"): unable to parse IP'),
        ("1.2.3", 'IP Address "1.2.3" parse error during conversion from string: '
         'ParseAddr("1.2.3"): IPv4 address too short'),
        ("1.2.3.4.5", 'IP Address "1.2.3.4.5" parse error during conversion from string: '
         'ParseAddr("1.2.3.4.5"): IPv4 address too long'),
        ("256.1.1.1", 'IP Address "256.1.1.1" parse error during conversion from string: '
         'ParseAddr("256.1.1.1"): IPv4 field has value >255'),
        ("01.2.3.4", 'IP Address "01.2.3.4" parse error during conversion from string: '
         'ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero'),
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ],
)  # fmt: skip
def test_a_text_that_is_no_address_is_refused(address: str, message: str) -> None:
    assert _fail(f"ip('{address}')") == message
    assert _run(f"isIP('{address}')") is False


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("x", f"{_PARSE_PREFIX}(\"x\"): no '/'"),
        ("x/8", f'{_PARSE_PREFIX}("x/8"): ParseAddr("x"): unable to parse IP'),
        ("1.2.3.4/33", f'{_PARSE_PREFIX}("1.2.3.4/33"): prefix length out of range'),
        ("1.2.3.4/08", f'{_PARSE_PREFIX}("1.2.3.4/08"): bad bits after slash: "08"'),
        ("fe80::1%eth0/64",
         f'{_PARSE_PREFIX}("fe80::1%eth0/64"): IPv6 zones cannot be present in a prefix'),
        ("::ffff:1.2.3.4/100",
         f'{_PREFIX}IPv4-mapped IPv6 address "::ffff:1.2.3.4/100" is not allowed'),
    ],
)  # fmt: skip
def test_a_text_that_is_no_range_of_addresses_is_refused(prefix: str, message: str) -> None:
    assert _fail(f"cidr('{prefix}')") == message
    assert _fail(f"cidr('10.0.0.0/8').containsCIDR('{prefix}')") == message
    assert _run(f"isCIDR('{prefix}')") is False


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "empty url"),
        ("foo", "invalid URI for request"),
        ("a b:c", "invalid URI for request"),
        ("1http://a", "invalid URI for request"),
        ("://a", "missing protocol scheme"),
        ("/a%zz", 'invalid URL escape "%zz"'),
        ("/a%", 'invalid URL escape "%"'),
        ("http://a/%4", 'invalid URL escape "%4"'),
        ("http://a%zz/", 'invalid URL escape "%zz"'),
        ("http://user@ho%41st/", 'invalid URL escape "%41"'),
        ("https://a b/", 'invalid character " " in host name'),
        ("https://[::1", "missing ']' in host"),
        ("http://[::1]x", 'invalid port "x" after host'),
        ("http://a:80x/", 'invalid port ":80x" after host'),
        ("http://us er@host/", "net/url: invalid userinfo"),
        ("/x\x01", "net/url: invalid control character in URL"),
    ],
)
def test_a_text_that_is_no_url_is_refused(url: str, problem: str) -> None:
    environment = cel.Environment({"text": cel.STRING})
    shown = url.replace("\x01", "\\x01")
    with pytest.raises(cel.EvaluationError) as caught:
        environment.compile("url(text)", result=None).evaluate({"text": url})
    assert str(caught.value) == (
        f'URL parse error during conversion from string: parse "{shown}": {problem}'
    )
    assert environment.compile("isURL(text)").evaluate({"text": url}) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("url('http://a<b/').getHost()", "a<b"),
        ("url('http://a:/').getPort()", ""),
        ("url('http://a:/').getHostname()", "a"),
        ("url('http:a').getScheme()", "http"),
        ("url('//host/path').getHost()", "host"),
        ("url('https://user:pw@host:80/p?a=b').getHost()", "host:80"),
        ("url('http://[::1]').getHostname()", "::1"),
        ("url('http://[::1]').getPort()", ""),
        ("url('/a:b').getEscapedPath()", "/a:b"),
        ("url('http://a/p#frag').getEscapedPath()", "/p"),
        ("isURL('http:///x') && isURL('mailto:a@b') && isURL('http://a?x y')", True),
    ],
)
def test_the_parts_of_a_url_are_found(text: str, value: object) -> None:
    assert _run(text) == value


@pytest.mark.parametrize("text", [r"b'\u0041'", r"b'\U00000041'"])
def test_a_constant_of_bytes_holds_no_code_points(text: str) -> None:
    with pytest.raises(cel.CompileError, match="unable to unescape string"):
        _ENVIRONMENT.compile(text, result=None)


def test_a_constant_of_bytes_holds_bytes_and_utf8() -> None:
    assert _run(r"b'\xff\377\né'") == b"\xff\xff\n\xc3\xa9"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("any.list.isSorted()", True),
        ("[2, 1].map(x, any.list[0]).isSorted()", True),
        ("any.falling.isSorted()", False),
        ("any.list.min()", "a"),
        ("any.list.max()", "a"),
    ],
)
def test_what_cannot_be_compared_is_in_order(text: str, value: object) -> None:
    assert _run(text) == value
