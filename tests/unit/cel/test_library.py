"""Kubernetes' function libraries."""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.interpreter.interpret import interpret
from quarterdeck.cel.library.authorizer import Attributes, Decision, Subject

_ENVIRONMENT = cel.Environment({"authorizer": cel.AUTHORIZER, "any": cel.DYN})


class _Everybody:
    """Lets anybody read; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []

    def decide(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        if attributes.verb == "fail":
            return Decision(allowed=False, error="broken")
        return Decision(allowed=attributes.verb == "get", reason="only get")


def _value(text: str, **data: Any) -> Any:
    program = _ENVIRONMENT.compile(text, result=None)
    value = program.evaluate({"any": None, **data})
    assert value == interpret(program._tree, {"any": None, **data})
    return value


def _error(text: str, **data: Any) -> str:
    program = _ENVIRONMENT.compile(text, result=None)
    with pytest.raises(cel.EvaluationError) as caught:
        program.evaluate({"any": None, **data})
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'tacocat'.charAt(3) + 'abc'.charAt(3)", "o"),
        ("'hello mellow'.indexOf('ello')", 1),
        ("'hello mellow'.indexOf('ello', 2)", 7),
        ("'hello mellow'.lastIndexOf('ello')", 7),
        ("'hello mellow'.lastIndexOf('ello', 6)", 1),
        ("'hello'.indexOf('z') + 'hello'.indexOf('')", -1),
        ("'abc'.indexOf('c', 9) + 'abc'.lastIndexOf('c', 3)", -2),
        ("'abc'.indexOf('', 5) + 'abc'.lastIndexOf('', 1) + 'abc'.lastIndexOf('')", 9),
        ("'abc'.lastIndexOf('bc', 2) + 'abc'.lastIndexOf('abcd')", 0),
        ("['x', 'y'].join() + ['x', 'y'].join('-')", "xyx-y"),
        ("'TacoCÆt Xii'.lowerAscii()", "tacocÆt xii"),
        ("'TacoCæt Xii'.upperAscii()", "TACOCæT XII"),
        ("'hello hello'.replace('he', 'we')", "wello wello"),
        ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
        ("'ab'.replace('', '_')", "_a_b_"),
        ("'a b c'.split(' ')", ["a", "b", "c"]),
        ("'a b c'.split(' ', 2)", ["a", "b c"]),
        ("'a b c'.split(' ', 0)", []),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'abc'.split('', 2)", ["a", "bc"]),
        ("'tacocat'.substring(4) + 'tacocat'.substring(0, 4)", "cattaco"),
        ("'  \ttrim\\n '.trim()", "trim"),
        ("'gums'.reverse()", "smug"),
        ("strings.quote('a\"b\\n')", '"a\\"b\\n"'),
        ("'%s|%d|%.2f|%b|%x|%X|%o|%%'.format(['a', 3, 1.5, 5, 255, 255, 8])",
         "a|3|1.50|101|ff|FF|10|%"),
        ("'%s'.format([[1, 'a', 2.5, null, true]])", '[1, "a", 2.500000, null, true]'),
        ("'%s'.format([{'b': 1, 'a': duration('60s')}])", '{"a":duration("60s"), "b":1}'),
        ("'%s %s %s'.format([1.5, timestamp('2020-01-01T00:00:00Z'), type(1)])",
         "1.5 2020-01-01T00:00:00Z int"),
    ],
)  # fmt: skip
def test_string_functions_evaluate_to_their_values(text: str, value: Any) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'abc'.charAt(4)", "index out of range: 4"),
        ("'abc'.substring(4)", "index out of range: 4"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("'abc'.substring(-1)", "index out of range: -1"),
        ("'abc'.substring(1, 4)", "index out of range: 4"),
        ("'abc'.indexOf('b', -1)", "index out of range: -1"),
        ("'abc'.lastIndexOf('b', -1)", "index out of range: -1"),
        ("''.lastIndexOf('a')", "index out of range: -1"),
        ("any.charAt(1)", "no such overload"),
        ("[].min()", "min called on empty list"),
        ("[1].slice(0, 2)", "cannot slice(0, 2), list is length 1"),
        ("[1].slice(1, 0)", "start index must be less than or equal to end index"),
        ("[1].slice(-1, 0)", "negative indexes not supported"),
        ("lists.range(2000000)", "is longer than 1000000"),
        ("'a'.find(any)", "no such overload"),
        ("quantity('x')", "quantities must match the regular expression"),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("semver('1.2')", "invalid semantic version '1.2'"),
    ],
)  # fmt: skip
def test_errors_of_library_functions_are_worded_as_kubernetes_words_them(
    text: str, message: str
) -> None:
    assert message in _error(text)


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 2].isSorted()",
        "!['b', 'a'].isSorted()",
        "[].isSorted()",
        "[1, 2, 3].sum() == 6",
        "[1.5, 1.5].sum() == 3.0",
        "[1u].sum() == 1u",
        "[duration('1m'), duration('1s')].sum() == duration('61s')",
        "[3, 1, 2].min() == 1",
        "['a', 'c'].max() == 'c'",
        "[1, 2, 2].indexOf(2) == 1",
        "[1, 2, 2].lastIndexOf(2) == 2",
        "[1].indexOf(9) == -1",
        "[1, 2, 3, 4].slice(1, 3) == [2, 3]",
        "[[1], [2, 3]].flatten() == [1, 2, 3]",
        "dyn([[[1]], [[2]]]).flatten(2) == [1, 2]",
        "lists.range(3) == [0, 1, 2]",
        "[2, 1, 2].distinct() == [2, 1]",
        "[1, 2].reverse() == [2, 1]",
        "['b', 'a'].sort() == ['a', 'b']",
        "[-3, 1, 2].sortBy(e, e * e) == [1, 2, -3]",
        "[1, 2].first().value() == 1",
        "[1, 2].last().value() == 2",
        "!dyn([]).first().hasValue()",
        "sets.contains([1, 2], [2])",
        "!sets.contains([1], [2])",
        "sets.contains([1], [])",
        "sets.equivalent([1, 1, 2], [2, 1])",
        "sets.intersects([1, 2], [2, 3])",
        "!sets.intersects([1], [2])",
        "sets.contains(dyn([1]), [1.0])",
        "'abc 123'.find('[0-9]+') == '123'",
        "'abc'.find('[0-9]+') == ''",
        "'1 22 333'.findAll('[0-9]+') == ['1', '22', '333']",
        "'1 22 333'.findAll('[0-9]+', 2) == ['1', '22']",
        "'foobar'.matches('fo+b')",
        "!'foobar'.matches('^bar')",
        "url('https://user@example.com:80/a%20b/c?k=v&k=w&z=').getScheme() == 'https'",
        "url('https://example.com:80/').getHost() == 'example.com:80'",
        "url('https://[::1]:80/').getHostname() == '::1'",
        "url('https://[::1]:80/').getPort() == '80'",
        "url('/a b').getEscapedPath() == '/a%20b'",
        "url('/p').getHost() == ''",
        "url('https://h/?k=v&k=w&z=').getQuery() == {'k': ['v', 'w'], 'z': ['']}",
        "isURL('https://example.com:80/')",
        "!isURL('../a')",
        "!isURL('')",
        "isURL('/a')",
        "quantity('1.5Gi').isGreaterThan(quantity('1500M'))",
        "isQuantity('10m')",
        "!isQuantity('x')",
        "quantity('50k').add(quantity('20')) == quantity('50020')",
        "quantity('50k').sub(20).asInteger() == 49980",
        "quantity('200M').compareTo(quantity('0.2G')) == 0",
        "quantity('-1').sign() == -1",
        "quantity('1500m').asApproximateFloat() == 1.5",
        "!quantity('1500m').isInteger()",
        "ip('192.168.0.1').family() == 4",
        "ip('::1').isLoopback()",
        "string(ip('::1')) == '::1'",
        "ip.isCanonical('2001:db8::abcd')",
        "!ip.isCanonical('2001:DB8::ABCD')",
        "!isIP('1.2.3')",
        "!isIP('127.0.0.1.0')",
        "!isIP('::ffff:1.2.3.4')",
        "!isIP('fe80::1%eth0')",
        "ip('127.0.0.1') == ip('127.0.0.1')",
        "ip('10.0.0.1').isGlobalUnicast()",
        "ip('224.0.0.1').isLinkLocalMulticast()",
        "ip('fe80::1').isLinkLocalUnicast()",
        "ip('::').isUnspecified()",
        "cidr('192.168.0.0/16').containsIP('192.168.9.9')",
        "!cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.0.0.0/8').prefixLength() == 8",
        "string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
        "cidr('10.0.0.1/8').ip() == ip('10.0.0.1')",
        "isCIDR('::/0')",
        "!isCIDR('10.0.0.0')",
        "!isCIDR('10.0.0.0/33')",
        "!isCIDR('10.0.0.0/08')",
        "!format.dns1123Label().validate('my-name').hasValue()",
        "format.dns1123Label().validate('My_name').value().size() == 1",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "!format.named('nothing').hasValue()",
        "format.date().validate('2020-13-01').hasValue()",
        "!format.qualifiedName().validate('example.com/name').hasValue()",
        "!format.labelValue().validate('').hasValue()",
        "!format.byte().validate('QUI=').hasValue()",
        "!format.datetime().validate('2020-01-01T00:00:00Z').hasValue()",
        "format.uri().validate('x').hasValue()",
        "!format.dns1123LabelPrefix().validate('my-name-').hasValue()",
        "semver('1.2.3').isLessThan(semver('1.10.0'))",
        "semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "semver('v1.2', true).major() == 1",
        "isSemver('1.2.3')",
        "!isSemver('1.2')",
        "isSemver('01.2', true)",
        "semver('1.2.3').compareTo(semver('1.2.3+build')) == 0",
        "semver('1.2.3').minor() == 2",
        "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))",
        "semver('2.0.0').patch() == 0",
        "math.greatest(1, 3, 2) == 3",
        "math.least([2.5, 1.5]) == 1.5",
        "math.abs(-3) == 3",
        "math.ceil(1.2) == 2.0",
        "math.floor(-1.2) == -2.0",
        "math.round(2.5) == 3.0",
        "math.trunc(-1.9) == -1.0",
        "math.isNaN(0.0 / 0.0)",
        "math.isInf(1.0 / 0.0)",
        "math.isFinite(1.0)",
        "math.sign(-2) == -1",
        "type(quantity('1')) == type(quantity('2'))",
        "sign(quantity('-1')) == -1",
        "optional.unwrap([optional.of(1), optional.none()]) == [1]",
        "[optional.none(), optional.of('a')].unwrapOpt() == ['a']",
        "type(ip('::1')) == net.IP",
    ],
)
def test_expressions_with_library_functions_are_true(text: str) -> None:
    assert _value(text) is True


def test_the_authorizer_is_asked_what_the_expression_says() -> None:
    everybody = _Everybody()
    text = (
        "authorizer.serviceAccount('ns', 'robot').group('apps').resource('deployments')"
        ".subresource('scale').namespace('default').name('web').fieldSelector('a=b')"
        ".labelSelector('c=d').check('get').allowed()"
    )
    assert _ENVIRONMENT.compile(text).evaluate({"authorizer": Subject(everybody)}) is True
    assert everybody.asked == [
        Attributes(
            user="system:serviceaccount:ns:robot",
            verb="get",
            group="apps",
            resource="deployments",
            subresource="scale",
            namespace="default",
            name="web",
            field_selector="a=b",
            label_selector="c=d",
        )
    ]


def test_a_decision_carries_its_reason_and_error() -> None:
    subject = Subject(_Everybody())
    allowed = "authorizer.path('/healthz').check('post').reason() == 'only get'"
    failed = "authorizer.path('/x').check('fail').errored()"
    text = "authorizer.path('/x').check('fail').error() == 'broken'"
    for expression in (allowed, failed, text):
        assert _ENVIRONMENT.compile(expression).evaluate({"authorizer": subject}) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        ("authorizer.serviceAccount('a', 'B@').group('').resource('x').check('get').allowed()",
         "Invalid service account name"),
        ("authorizer.serviceAccount('A', 'b').group('').resource('x').check('get').allowed()",
         "Invalid service account namespace"),
    ],
)  # fmt: skip
def test_invalid_authorization_checks_are_refused(text: str, message: str) -> None:
    assert _error(text, authorizer=Subject(_Everybody())) == message
