"""What is said about expressions that are no good, and where."""

import pytest

from quarterdeck import cel
from quarterdeck.cel.cost.units import Range
from quarterdeck.meta.schema import from_openapi

_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
_SCHEMA = from_openapi(
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "s": {"type": "string"},
            "l": {"type": "array", "items": {"type": "integer"}},
            "o": {"type": "object", "properties": {"x": {"type": "string"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "any": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
)


def _issues(text: str) -> list[tuple[int, int, str]]:
    environment = cel.Environment.for_schema(_SCHEMA, old_self=True)
    with pytest.raises(cel.CompileError) as caught:
        environment.compile(text)
    return [(issue.line, issue.column, issue.message) for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("self.n =", [(1, 8, "Syntax error: token recognition error at: '='")]),
        ("self.n >", [(1, 9, f"Syntax error: mismatched input '<EOF>' expecting {_STARTS}")]),
        ("", [(1, 0, f"Syntax error: mismatched input '<EOF>' expecting {_STARTS}")]),
        ("self.n + + 1", [(1, 10, f"Syntax error: extraneous input '+' expecting {_STARTS}")]),
        ("self.n\n  self.s", [(2, 3, "Syntax error: mismatched input 'self' expecting <EOF>")]),
        ("self.n b", [(1, 8, "Syntax error: extraneous input 'b' expecting <EOF>")]),
        ("(self.n", [(1, 8, "Syntax error: missing ')' at '<EOF>'")]),
        ("self.l[0", [(1, 9, "Syntax error: missing ']' at '<EOF>'")]),
        ("self.", [(1, 6, "Syntax error: no viable alternative at input '.'")]),
        ("self.s == 'a", [
            (1, 11, "Syntax error: token recognition error at: ''a'"),
            (1, 13, f"Syntax error: mismatched input '<EOF>' expecting {_STARTS}"),
        ]),
        ("9223372036854775808 == self.n", [(1, 1, "invalid int literal")]),
        ("18446744073709551616u == 1u", [(1, 1, "invalid uint literal")]),
        ("1e999 == 1.0", [(1, 1, "invalid double literal")]),
        ("'\\ud800' == ''", [(1, 1, "invalid unicode code point")]),
        ("package == 1", [(1, 1, "reserved identifier: package")]),
        ("has(self)", [(1, 5, "invalid argument to has() macro")]),
        ("self.l.all(1, true)", [(1, 12, "argument must be a simple name")]),
        ("self.l.map(a.b, true)", [(1, 13, "argument is not an identifier")]),
        ("self.l.filter(__result__, true)",
         [(1, 15, "iteration variable overwrites accumulator variable")]),
        ("self.l.all(i, i, true)", [(1, 15, "duplicate variable name: i")]),
    ],
)  # fmt: skip
def test_syntax_errors_are_worded_as_cel_go_words_them(
    text: str, issues: list[tuple[int, int, str]]
) -> None:
    assert _issues(text) == issues


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("self.nope", [(1, 5, "undefined field 'nope'")]),
        ("self.o.y == self.z", [(1, 7, "undefined field 'y'"), (1, 17, "undefined field 'z'")]),
        ("self.free.x == 1", [(1, 10, "undefined field 'x'")]),
        ("self.any == 1", [(1, 5, "undefined field 'any'")]),
        ("nope", [(1, 1, "undeclared reference to 'nope' (in container '')")]),
        ("nope(1)", [(1, 5, "undeclared reference to 'nope' (in container '')")]),
        ("self.n.nope()", [(1, 12, "undeclared reference to 'nope' (in container '')")]),
        ("Nope{x: 1}", [(1, 5, "undeclared reference to 'Nope' (in container '')")]),
        ("int{}", [(1, 4, "'int' is not a message type")]),
        ("self.n > 'a'",
         [(1, 8, "found no matching overload for '_>_' applied to '(int, string)'")]),
        ("self.n == '1'",
         [(1, 8, "found no matching overload for '_==_' applied to '(int, string)'")]),
        ("self.n && true",
         [(1, 5, "expected type 'bool' but found 'int'")]),
        ("!self.n", [(1, 1, "found no matching overload for '!_' applied to '(int)'")]),
        ("self.l['a'] == 1",
         [(1, 7, "found no matching overload for '_[_]' applied to '(list(int), string)'")]),
        ("self.s.startsWith(1)",
         [(1, 18, "found no matching overload for 'startsWith' applied to 'string.(int)'")]),
        ("self.l.size().x", [(1, 14, "type 'int' does not support field selection")]),
        ("self.n.all(x, true)",
         [(1, 5, "expression of type 'int' cannot be range of a comprehension "
                 "(must be list, map, or dynamic)")]),
        ("self.l.all(x, x)", [(1, 15, "expected type 'bool' but found 'int'")]),
        ("[1, 'a'] == [1]", [(1, 5, "expected type 'int' but found 'string'")]),
        ("self.l.exists(x, x > 1) && x > 1",
         [(1, 28, "undeclared reference to 'x' (in container '')")]),
        ("duration('x') == duration('1s')", [(1, 10, "invalid duration argument")]),
        ("timestamp('x') == timestamp(0)", [(1, 11, "invalid timestamp argument")]),
        ("self.s.matches('(')", [(1, 16, "invalid matches argument")]),
        ("{?'a': 1} == {}", [(1, 8, "expected type 'optional_type(int)' but found 'int'")]),
        ("self.n == null",
         [(1, 8, "found no matching overload for '_==_' applied to '(int, null)'")]),
    ],
)  # fmt: skip
def test_type_errors_are_worded_as_cel_go_words_them(
    text: str, issues: list[tuple[int, int, str]]
) -> None:
    assert _issues(text) == issues


def test_a_rule_must_be_a_bool() -> None:
    assert _issues("self.n + 1") == [(1, 1, "cel expression must evaluate to a bool")]


def test_the_message_shows_line_and_place() -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.Environment.for_schema(_SCHEMA, old_self=False).compile("true &&\n\t'é' == self.nope")
    assert str(caught.value) == (
        "ERROR: <input>:2:13: undefined field 'nope'\n |  'é' == self.nope\n | ..．.........^"
    )


def test_old_self_is_unknown_where_there_is_none() -> None:
    environment = cel.Environment.for_schema(_SCHEMA, old_self=False)
    with pytest.raises(cel.CompileError, match="undeclared reference to 'oldSelf'"):
        environment.compile("self.n == oldSelf.n")


def test_a_program_has_its_type_and_text() -> None:
    environment = cel.Environment.for_schema(_SCHEMA, old_self=True)
    program = environment.compile("self.n >= oldSelf.n")
    assert program.uses_old_self
    assert program.type == cel.BOOL
    assert program.estimated_cost == Range(5, 5)
    assert not environment.compile("self.n > 0").uses_old_self
