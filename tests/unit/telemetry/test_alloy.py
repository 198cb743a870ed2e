import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.telemetry.alloy.parser import is_equivalent, parse
from quarterdeck.telemetry.alloy.tokens import AlloyError
from quarterdeck.telemetry.alloy.tree import Attribute, Binary, Block, Literal, Name

GOOD = [
    "",
    "a = [1,\n2,\n]",
    'a "b" { }',
    'a.b "x" { c = 1 }',
    'a {\n b = {x = 1,\n "y z" = 2}\n}',
    "a {b=1\nc=2}",
    "a = 1 + 2 * 3 ^ 4 || !true && null == x.y[1].z(1, 2)",
    "a = `x\ny`",
    "a = 1e5",
    "a = 007",
    'declare "x" {\n  argument "y" { optional = true }\n}',
    "a = -5 - -3",
    'a = {"k" = 1, k2 = 2,}',
    "a = foo(1,\n2)",
    "a = foo(1,\n2,\n)",
    "é = 1",
    "a = .5",
    "a = [\n]",
    "a = {\n}",
    'a = "\\u00e9\\x41\\101"',
    "a = 1 +\n2",
    "a = x.\ny",
    "a =\n1",
    "a { // c\n} /* x */\n",
    "a { b { c = 1 } }",
    "a = true.x",
    'a = "x" + `y`',
    'a "" {}',
    "a=1.",
]

BAD = [
    ("a = [1,\n2\n]", (2, 2), "missing ',' in expression list"),
    (
        'a "b-c" { }',
        (1, 3),
        'expected block label to be a valid identifier, but got "b-c"',
    ),
    ("a {b=1 c=2}", (1, 8), "expected TERMINATOR, got IDENT"),
    ('a = "x\\n\\q"', (1, 10), "unknown escape sequence"),
    ("a = 0x10", (1, 6), "expected TERMINATOR, got IDENT"),
    ("/* a", (1, 1), "block comment not terminated"),
    ('a = "x', (1, 5), "string literal not terminated"),
    ("a", (1, 2), "expected block label, got TERMINATOR"),
    ("a {", (1, 4), "expected }, got EOF"),
    ("a=1;b=2", (1, 4), "illegal character U+003B ';'"),
    ("a b { }", (1, 3), "expected block label, got IDENT"),
    ("a = (1\n)", (1, 7), "expected ), got TERMINATOR"),
    ("a = 1.5.2", (1, 8), "expected TERMINATOR, got FLOAT"),
    ('a "b" "c" {}', (1, 7), "expected block body, got STRING"),
    ('"a" = 1', (1, 1), "expected identifier, got STRING"),
    ("a = b ? c : d", (1, 7), "illegal character U+003F '?'"),
    ("a {\n} b = 1", (2, 3), "expected TERMINATOR, got IDENT"),
    ("a.b = 1", (1, 1), 'attribute names may only consist of a single identifier with no "."'),
    ("a = 1\n+ 2", (2, 1), "expected identifier, got +"),
    ("a\n{\n}", (1, 2), "expected block label, got TERMINATOR"),
    ("a = [1 2]", (1, 8), "missing ',' in expression list"),
    ("a = {x=1 y=2}", (1, 10), "missing ',' in field list"),
    ("\n\n# x", (3, 1), "illegal character U+0023 '#'"),
    ("a = x[1\n]", (1, 8), "expected ], got TERMINATOR"),
    ("a = 'x'", (1, 5), "illegal single-quoted string; use double quotes"),
    ("a = {x = 1,\ny = 2\n}", (2, 6), "missing ',' in field list"),
    ("a = 1e", (1, 5), "exponent has no digits"),
    ("a = " + "(" * 500, (1, 155), "nested deeper than 150 levels"),
]


@pytest.mark.parametrize("text", GOOD)
def test_configurations_alloy_accepts_are_accepted(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(("text", "place", "problem"), BAD)
def test_errors_name_what_and_where_as_alloy_does(
    text: str, place: tuple[int, int], problem: str
) -> None:
    with pytest.raises(AlloyError) as caught:
        parse(text)
    assert (caught.value.problem, tuple(caught.value.position)) == (problem, place)


def test_the_tree_holds_blocks_labels_and_values() -> None:
    (block,) = parse('prometheus.scrape "web" {\n  targets = a + 2\n}')
    assert block == Block(
        "prometheus.scrape",
        "web",
        (Attribute("targets", Binary("+", Name("a"), Literal(2))),),
    )


def test_powers_bind_to_the_right_and_differences_to_the_left() -> None:
    assert is_equivalent("a = 2 ^ 3 ^ 2", "a = 2 ^ (3 ^ 2)")
    assert is_equivalent("a = 5 - 3 - 1", "a = (5 - 3) - 1")
    assert not is_equivalent("a = 5 - 3 - 1", "a = 5 - (3 - 1)")


def test_formatting_and_comments_do_not_make_a_difference() -> None:
    left = 'a "b" {\n\tc = [1, 2]\n}\n'
    right = '// note\na "b" {\n  c = [\n    1,\n    2,\n  ]\n}'
    assert is_equivalent(left, right)
    assert not is_equivalent(left, right.replace("2", "3"))
    assert not is_equivalent('a = "b"', "a = b")
    assert is_equivalent("not { alloy", "not { alloy  \n")


@given(st.text(alphabet='ab{}[]()=,."`\\\n/* 1+-!|&', max_size=40))
def test_any_text_parses_or_is_an_alloy_error(text: str) -> None:
    try:
        parse(text)
    except AlloyError as error:
        assert error.position.line >= 1


def test_the_seeds_samples_parse() -> None:
    text = 'prometheus.exporter.self "alloy" { }\n\nprometheus.scrape "alloy" {\n'
    text += "  targets    = prometheus.exporter.self.alloy.targets\n"
    text += "  forward_to = [prometheus.remote_write.grafanacloud.receiver]\n}\n"
    exporter, scrape = parse(text)
    assert isinstance(exporter, Block)
    assert isinstance(scrape, Block)
    assert scrape.name == "prometheus.scrape"


def test_a_number_of_many_digits_is_read() -> None:
    assert parse("a { b = " + "9" * 5000 + " }")
