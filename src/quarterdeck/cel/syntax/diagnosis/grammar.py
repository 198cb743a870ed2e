"""The grammar of CEL with the same rules as cel-go, because its messages depend on them."""

import functools

from quarterdeck.cel.syntax.diagnosis.network import (
    Alternatives,
    Guard,
    Network,
    Part,
    Ref,
    Repeat,
    Token,
)
from quarterdeck.cel.syntax.grammar import FIRST

ORDER = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",",
    "-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT",
    "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip
"""The kinds of tokens, in the order messages list them."""


def _token(*kinds: str) -> Token:
    return Token(frozenset(kinds))


def _optional(*parts: Part, first: frozenset[str] | None) -> Alternatives:
    return Alternatives((parts, ()), first)


_NAME = _token("IDENTIFIER")
_COMMA, _COLON = _token(","), _token(":")
_EXPRESSION = Ref("expr")
_MARK = _optional(_token("?"), first=frozenset({"?"}))
_DOT = _optional(_token("."), first=frozenset({"."}))
_MINUS = _optional(_token("-"), first=frozenset({"-"}))
_LAST_COMMA = _optional(_COMMA, first=frozenset({","}))
_ARGUMENTS = (_token("("), _optional(Ref("exprList"), first=FIRST), _token(")"))


@functools.cache
def build_grammar(*, has_escapes: bool) -> Network:
    """Build the rules; newer releases of cel-go have names in backticks (`has_escapes`)."""
    rules = Network()
    rules.add("start", _EXPRESSION, _token("EOF"))
    _add_operators(rules)
    _add_members(rules, Ref("escapeIdent") if has_escapes else _NAME)
    _add_primaries(rules, has_escapes=has_escapes)
    _add_lists(rules, Ref("escapeIdent") if has_escapes else _NAME)
    if has_escapes:
        names = ((_NAME,), (_token("ESC_IDENTIFIER"),))
        rules.add("escapeIdent", Alternatives(names, frozenset({"IDENTIFIER"})))
    return rules


def _add_operators(rules: Network) -> None:
    choice = (_token("?"), Ref("conditionalOr"), _COLON, _EXPRESSION)
    rules.add("expr", Ref("conditionalOr"), _optional(*choice, first=frozenset({"?"})))
    for name, sign, operand in (
        ("conditionalOr", "||", "conditionalAnd"),
        ("conditionalAnd", "&&", "relation"),
    ):
        rules.add(name, Ref(operand), Repeat((_token(sign), Ref(operand)), frozenset({sign})))
    comparison = _token("<", "<=", ">=", ">", "==", "!=", "in")
    rules.add("relation", Ref("calc"), Repeat((Guard(1), comparison, Ref("relation", 2))))
    product = (Guard(2), _token("*", "/", "%"), Ref("calc", 3))
    total = (Guard(1), _token("+", "-"), Ref("calc", 2))
    rules.add("calc", Ref("unary"), Repeat((Alternatives((product, total)),)))
    nots = Repeat((_token("!"),), frozenset({"!"}), at_least_once=True)
    minuses = Repeat((_token("-"),), at_least_once=True)
    member = Ref("member")
    rules.add("unary", Alternatives(((member,), (nots, member), (minuses, member))))


def _add_members(rules: Network, field: Part) -> None:
    select = (Guard(3), _token("."), _MARK, field)
    call = (Guard(2), _token("."), _NAME, *_ARGUMENTS)
    index = (Guard(1), _token("["), _MARK, _EXPRESSION, _token("]"))
    rules.add("member", Ref("primary"), Repeat((Alternatives((select, call, index)),)))


def _add_primaries(rules: Network, *, has_escapes: bool) -> None:
    starts = FIRST | {"?"}
    elements = (_optional(Ref("listInit"), first=starts), _LAST_COMMA, _token("]"))
    entries = (_optional(Ref("mapInitializerList"), first=starts), _LAST_COMMA, _token("}"))
    fields = _optional(Ref("fieldInitializerList"), first=frozenset({"?", "IDENTIFIER"}))
    names = Repeat((_token("."), _NAME), frozenset({"."}))
    plain: tuple[tuple[Part, ...], ...] = ((_DOT, _NAME, _optional(*_ARGUMENTS, first=None)),)
    if has_escapes:
        plain = ((_DOT, _NAME), (_DOT, _NAME, *_ARGUMENTS))
    rules.add(
        "primary",
        Alternatives(
            (
                *plain,
                (_token("("), _EXPRESSION, _token(")")),
                (_token("["), *elements),
                (_token("{"), *entries),
                (_DOT, _NAME, names, _token("{"), fields, _LAST_COMMA, _token("}")),
                (Ref("literal"),),
            )
        ),
    )
    kinds = ("NUM_UINT", "STRING", "BYTES", "true", "false", "null")
    numbers = ((_MINUS, _token("NUM_INT")), (_MINUS, _token("NUM_FLOAT")))
    rules.add("literal", Alternatives((*numbers, *((_token(kind),) for kind in kinds))))


def _add_lists(rules: Network, field: Part) -> None:
    element, name = Ref("optExpr"), Ref("optField")
    rules.add("exprList", _EXPRESSION, Repeat((_COMMA, _EXPRESSION), frozenset({","})))
    rules.add("listInit", element, Repeat((_COMMA, element)))
    for rule, key in (("fieldInitializerList", name), ("mapInitializerList", element)):
        entry = (key, _COLON, _EXPRESSION)
        rules.add(rule, *entry, Repeat((_COMMA, *entry)))
    rules.add("optField", _MARK, field)
    rules.add("optExpr", _MARK, _EXPRESSION)
