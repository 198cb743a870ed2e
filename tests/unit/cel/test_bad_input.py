"""Whatever is thrown at it, the answer is an error, and soon."""

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck import cel

_ENVIRONMENT = cel.Environment({"self": cel.DYN, "s": cel.STRING})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1" * 1_000_000, id="a megabyte of digits"),
        pytest.param("self." * 200_000 + "x", id="a megabyte of fields"),
        pytest.param("9" * 50_000, id="a huge integer"),
        pytest.param("0x" + "f" * 50_000, id="a huge hexadecimal"),
        pytest.param("9" * 50_000 + "u", id="a huge unsigned"),
        pytest.param("1e" + "9" * 5_000, id="a huge exponent"),
        pytest.param("(" * 40_000 + "1" + ")" * 40_000, id="deep parentheses"),
        pytest.param("[" * 5_000, id="deep lists, unclosed"),
        pytest.param("{1:" * 5_000, id="deep maps, unclosed"),
        pytest.param("self" + ".x" * 5_000, id="a long path"),
        pytest.param("self" + "[0]" * 5_000, id="a long chain of indexes"),
        pytest.param("1" + "+1" * 5_000, id="a long sum"),
        pytest.param("true" + "?true:true" * 5_000, id="a long chain of conditions"),
        pytest.param("(" * 100 + "1" + ("+1" * 100 + ")") * 100, id="sums inside sums"),
        pytest.param("!" * 50_000 + "1", id="many nots"),
        pytest.param("-" * 49_999 + "'x'", id="many minuses"),
        pytest.param("[1]" + ".map(x, [x])" * 300, id="a long chain of macros"),
        pytest.param("'" + "a" * 90_000, id="an unclosed string"),
        pytest.param("\\" * 1_000, id="backslashes"),
        pytest.param("\x00\ud83d", id="characters that are none"),
        pytest.param("s.matches('a{1000}{1000}{1000}')", id="a pattern that explodes"),
    ],
)
def test_monstrous_expressions_are_refused(text: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        _ENVIRONMENT.compile(text)
    assert len(str(caught.value)) < 200_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("true" + " && true" * 10_000, id="a long conjunction"),
        pytest.param("(" * 100 + "true" + ")" * 100, id="a hundred parentheses"),
        pytest.param("!" * 50_000 + "true", id="an even number of nots"),
        pytest.param("1" + " + 1" * 100 + " == 101", id="a hundred additions"),
        pytest.param(
            "s in [" + ", ".join(f"'{n}'" for n in range(5_000)) + ", 'x']", id="a long list"
        ),
    ],
)
def test_large_but_flat_expressions_work(text: str) -> None:
    assert _ENVIRONMENT.compile(text).evaluate({"s": "x", "self": 1}) is True


def test_a_catastrophic_pattern_takes_no_time() -> None:
    program = _ENVIRONMENT.compile("s.matches('^(a+)+$') || s.find('(x*)*y') == 'never'")
    assert program.evaluate({"s": "a" * 50_000 + "!"}) is False


def test_a_budget_ends_a_runaway_evaluation() -> None:
    hundred = "[" + ",".join(map(str, range(100))) + "]"
    text = f"{hundred}.all(a, {hundred}.all(b, {hundred}.all(c, {hundred}.all(d, a + b >= 0))))"
    program = _ENVIRONMENT.compile(text)
    with pytest.raises(cel.BudgetExceeded, match="actual cost limit exceeded"):
        program.evaluate({}, budget=cel.Budget(per_call=20_000))
    assert (cel.Budget().per_call, cel.Budget().remaining) == (1_000_000, 10_000_000)


def test_a_budget_shrinks_by_what_was_spent() -> None:
    program = _ENVIRONMENT.compile("self.x > 1 && s == 'abc'")
    budget = cel.Budget()
    before = budget.remaining
    assert program.evaluate({"self": {"x": 2}, "s": "abc"}, budget=budget) is True
    assert before - budget.remaining == 5


def test_a_budget_that_knows_the_size_gives_the_same_answers() -> None:
    program = _ENVIRONMENT.compile("self.l.exists(x, x == s)")
    data = {"self": {"l": ["a", "b"]}, "s": "b"}
    assert program.evaluate(data, budget=cel.Budget(size=100)) is True
    with pytest.raises(cel.BudgetExceeded):
        program.evaluate(data, budget=cel.Budget(3, size=100))


@settings(max_examples=count_examples(300), deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from("selfx.'\"()[]{}?:=<>!&|+-*/%,0123e \n\\rb"), max_size=40)
)
def test_any_text_compiles_or_is_refused(text: str) -> None:
    try:
        program = _ENVIRONMENT.compile(text, result=None)
    except cel.CompileError as error:
        assert error.issues
        return
    try:
        program.evaluate({"self": {"x": 1}, "s": "x"})
    except cel.EvaluationError as error:
        assert str(error)


@settings(max_examples=count_examples(200), deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=6,
    ),
    text=st.sampled_from(
        [
            "self.x > 1",
            "self + 1 == 2",
            "self.all(x, x > 0)",
            "size(self) > 1 && self[0] == 1",
            "has(self.a.b) || self.a in self",
            "self == [1, 'a'] || self < 3.5 || !self",
            "string(self) == '1' || int(self) == 1",
            "self.?a.orValue(1) == 1",
            "self ? 1 : 2",
            "-self == self.startsWith('a')",
        ]
    ),
)
def test_any_data_gives_a_value_or_an_evaluation_error(value: object, text: str) -> None:
    environment = cel.Environment({"self": cel.DYN})
    text = text.replace("[1, 'a']", "[1]")
    program = environment.compile(text, result=None)
    try:
        program.evaluate({"self": value})
    except cel.EvaluationError as error:
        assert str(error)
