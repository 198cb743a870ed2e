"""What expressions cost: the numbers are Kubernetes', and decide which CRDs are accepted."""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.cost.meter import Meter
from quarterdeck.meta.schema import from_openapi

_LIMIT = 1 << 64


def _list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _map(values: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, **more}


def _of(type_: str, format_: str = "", **more: Any) -> dict[str, Any]:
    return {"type": type_, **({"format": format_} if format_ else {}), **more}


def _estimate(schema: dict[str, Any], rule: str) -> int:
    environment = cel.Environment.for_schema(from_openapi(schema), old_self=True)
    return environment.compile(rule).estimated_cost.max


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_NUMBER, _TEXT = _of("number"), _of("string")
_SHORT = _of("string", maxLength=10)


@pytest.mark.parametrize(
    ("schema", "rule", "cost"),
    [
        (_list(_NUMBER), "self.all(x, true)", 4718591),
        (_list(_NUMBER, maxItems=10), "self.all(x, true)", 32),
        (_list(_TEXT), "self.all(x, true)", 3145727),
        (_list(_of("boolean")), "self.all(x, true)", 1887437),
        (_list(_list(_NUMBER)), "self.all(x, true)", 3145727),
        (_map(_NUMBER), "self.all(x, true)", 1348169),
        (_map(_of("string", "date")), "self.all(x, true)", 524288),
        (_list(_of("string", "duration")), "self.all(x, true)", 2359295),
        (_list(_of("string", "date-time")), "self.all(x, true)", 428963),
        (_list({"x-kubernetes-int-or-string": True}), "self.all(x, true)", 4718591),
        (_TEXT, "self.contains('test')", 314574),
        (_of("string", maxLength=10), "self.contains('test')", 5),
        (_TEXT, "self.startsWith('test')", 2),
        (_TEXT, 'size(self + "hello") > size("hello")', 314578),
        (_TEXT, 'self.matches("x")', 314574),
        (_TEXT, 'self.matches("")', 1),
        (_of("string", maxLength=0), 'self == "x"', 1),
        (_of("string", enum=["A", "LongValue"]), "self.contains('A')", 2),
        (_list(_TEXT), "self[1] == self[1]", 314577),
        (_list(_NUMBER), "self[1] == 0.0", 2),
        (_list(_NUMBER, maxItems=10), "self.all(x, self.all(y, true))", 352),
        (_list(_NUMBER, maxItems=10), "self.all(x, self.all(y, self.all(z, true)))", 3552),
        (_list(_TEXT, maxItems=10), "self.exists_one(x, true)", 23),
        (_map(_of("integer")), "oldSelf.size() == self.size()", 5),
        (_map(_of("string", "date-time")), "self['a'] == self['b']", 8),
        (_TEXT, "self.find('[0-9]+') == ''", 629147),
        (_TEXT, "self.lowerAscii() == 'lower!'", 314575),
        (_TEXT, "isQuantity(self)", 314574),
        (_TEXT, "type(self) == string", 314576),
        *((_SHORT, rule, cost) for rule, cost in [
            ("self.replace('', 'ab').contains('bcd')", 22),
            ("self.replace('ab', 'x').contains('bcd')", 13),
            ("self.replace('a', 'xyz').contains('bcd')", 21),
            ("self.replace(self, self).contains('bcd')", 179),
            ("''.replace('', 'abcdefghijklmn').contains('bcd')", 2),
            ("'aaaa'.replace(self, 'xyz').contains('bcd')", 4),
            ("self.split(',').all(x, x == '')", 170),
            ("self.split(',', 3).all(x, x == '')", 22),
            ("self.split(',', -1).all(x, x == '')", _LIMIT - 1),
            ("self.split(',', self.size()).all(x, x == '')", 172),
            ("self.indexOf('a') == 1", 6),
            ("cidr('10.0.0.0/8').containsIP(self)", 10),
            ("cidr('10.0.0.0/8').containsIP(ip(self))", 10),
            ("cidr('10.0.0.0/8').containsCIDR(self)", 13),
            ("ip(self) == ip('::1')", 7),
            ("quantity(self) == quantity('1')", 7),
            ("string(bytes(self)).contains('abc')", 37),
            ("strings.quote(self).contains('abc')", 14),
            ("self.find('a+').contains('abc')", 10),
            ("(self == 'a' ? self : 'abcdefghijkl').contains('abc')", 7),
            ("format.named('uri').value().validate(self).hasValue()", 132),
            ("dyn(self) == 'abc'", 3),
            ("dyn(self).contains('abc')", 1844674407370955266),
        ]),
        *((_object(a=_list(_SHORT, maxItems=5)), rule, cost) for rule, cost in [
            ("self.a.join().contains('abc')", 42),
            ("self.a.join(', ').contains('abc')", 44),
            ("self.a.indexOf('a') == 1", 28),
            ("self.a.all(i, v, v == '')", 23),
            ("self.a.transformList(i, v, v).size() > 1", 80),
            ("self.a.filter(x, x == 'a').map(x, x).size() > 1", 166),
        ]),
        *((_object(a=_list(_of("integer"), maxItems=5)), rule, cost) for rule, cost in [
            ("self.a.indexOf(1) == 1", 8),
            ("dyn(self.a).all(x, x == 1)", _LIMIT - 1),
            ("{'a': self.a}.a == self.a", 35),
            ("{'a': 1}.all(k, k == 'a')", 35),
            ("{'a': 1, 'b': 2}.size() == 2", 32),
            ("(self.a + [1, 2]).all(x, x == 1)", 42),
            ("optional.of(self.a).optMap(x, x.size()).orValue(1) == 1", 23),
        ]),
        *((_map(_SHORT, maxProperties=5), rule, cost) for rule, cost in [
            ("self.all(k, self[k].contains('abc'))", 52),
            ("self.all(k, v, v + 'a' == '')", 27),
            ("self.transformMap(k, v, v + v + v + v).size() > 1", 94),
            ("self.transformMapEntry(k, v, {k: v + 'a'}).size() > 1", 209),
        ]),
        (_object(s=_of("string", "byte", maxLength=8)), "self.s == b'abc'", 3),
        (_object(s=_of("string", "byte", maxLength=-1)), "self.s == b'abc'", 2),
    ],
)  # fmt: skip
def test_estimated_costs_are_those_of_kubernetes(
    schema: dict[str, Any], rule: str, cost: int
) -> None:
    assert _estimate(schema, rule) == cost


def test_an_estimate_never_overflows() -> None:
    rule = "self.all(a, self.all(b, self.all(c, self.all(d, a == b))))"
    assert _estimate(_list(_TEXT), rule) == _LIMIT - 1


_OBJECT = {
    "type": "object",
    "properties": {
        "n": _of("integer"),
        "s": _TEXT,
        "l": _list(_of("integer")),
        "m": _map(_of("integer")),
        "w": _list({"type": "object", "properties": {"k": _TEXT, "v": _TEXT}}),
    },
}
_VALUE = {
    "n": 5,
    "s": "Rook takes",
    "l": [1, 2, 3],
    "m": {"b": 1, "d": 2},
    "w": [{"k": "a1"}, {"k": "a2", "v": "z"}],
}


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("self.n == 5", 3),
        ("self.n == self.n && self.n == 5 && self.n == 5", 11),
        ("has(self.n)", 1),
        ("!has(self.w[0].v)", 4),
        ("type(self.n) == int", 4),
        ("double(5) < 10.0", 1),
        ("double(self.n) < 10.0", 4),
        ("self.s.startsWith('Rook')", 3),
        ("self.s.matches('^[^0-9]*$')", 8),
        ("self.s.upperAscii() == 'ROOK TAKES'", 4),
        ("self.s in ['a', 'Rook takes']", 2),
        ("1 in self.l", 5),
        ("self.l == [1, 2, 3]", 3),
        ("self.l + [4] == [1, 2, 3, 4]", 4),
        ("self.m.all(k, self.m[k] > 0)", 17),
        ("!self.m.exists(k, self.m[k] == 3)", 20),
        ("self.m.exists_one(k, self.m[k] == 2)", 14),
        ("size(self.m.filter(k, self.m[k] > 1)) == 1", 26),
        ("self.m.all(k, v, v > 0)", 13),
        ("self.m.transformMap(k, v, v > 1, v + 1).size() == 1", 14),
        ("self.w.exists(e, e.k.endsWith('1'))", 13),
        ("sets.contains(self.l, [1])", 6),
        ("sets.equivalent(self.l, [3, 2, 1])", 21),
        ("optional.of('a').hasValue()", 2),
        ("self.?s.orValue('v') == 'Rook takes'", 3),
        ("true ? self.n == 5 : self.s == ''", 3),
    ],
)
def test_actual_costs_are_those_of_cel_go(rule: str, cost: int) -> None:
    environment = cel.Environment.for_schema(from_openapi(_OBJECT), old_self=True)
    meter = Meter()
    assert environment.compile(rule).evaluate_with_meter({"self": _VALUE}, meter) is True
    assert meter.cost == cost


@pytest.mark.parametrize("size", [64, 1000, 100_000])
def test_the_bound_for_a_size_is_no_less_than_the_actual_cost(size: int) -> None:
    environment = cel.Environment.for_schema(from_openapi(_OBJECT), old_self=True)
    value = {"s": "a" * (size // 4), "l": list(range(size // 20)), "m": {"k" * (size // 4): 1}}
    for rule in (
        "self.l.all(x, self.s.contains(string(x)) || true)",
        "self.m.all(k, k == self.s || true)",
        "self.s + self.s != self.s && self.s.matches('^a*$')",
        "self.l.map(x, x + 1).filter(x, x > 3).size() >= 0",
        "self.l + self.l == self.l || true",
    ):
        program = environment.compile(rule)
        meter = Meter()
        program.evaluate_with_meter({"self": value}, meter)
        assert meter.cost <= program.get_cost_bound(size), rule
