"""Mistakes in expressions, and the very words cel-go has for them, by recorded answers."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from newest import being

from quarterdeck import cel

_GOLDEN = Path(__file__).parents[2] / "golden"
_VARIABLES = dict.fromkeys(("self", "a", "b", "c", "d", "f", "x"), cel.DYN)
_PIECES = (
    "(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "&&", "||", "!", "-", "+", "*", "/", "%",
    "==", "=", "<", "in", "a", "b", "1", "1.5", "'s'", "true", "null", "if", "&", "|", "'", "`",
    "#", "1u",
)  # fmt: skip


def _find_issues(text: str) -> list[list[object]]:
    try:
        cel.Environment(_VARIABLES, stored=()).compile(text, result=None)
    except cel.CompileError as error:
        return [[issue.line, issue.column, issue.message] for issue in error.issues]
    return []


@pytest.mark.parametrize(("release", "version"), [("1.32", "v1.32.10"), ("1.36", "v1.36.3")])
def test_mistakes_get_the_words_of_cel_go(release: str, version: str) -> None:
    lines = (_GOLDEN / f"cel-mistakes-{version}.jsonl").read_text().splitlines()
    answers = {record["expression"]: record["issues"] for record in map(json.loads, lines)}
    assert len(answers) > 250
    with being(release):
        found = {text: _find_issues(text) for text in answers}
    different = {text: found[text] for text in answers if found[text] != answers[text]}
    assert different == {}


@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=12))
def test_any_text_is_either_an_expression_or_has_an_issue_inside_of_it(pieces: list[str]) -> None:
    text = " ".join(pieces)
    for line, column, message in _find_issues(text):
        assert line == 1
        assert isinstance(column, int)
        assert 0 <= column <= len(text) + 1
        assert message


def test_a_text_that_is_too_long_to_diagnose_is_refused_where_it_is_wrong() -> None:
    text = " && ".join(["a"] * 1000) + " )"
    assert _find_issues(text) == [[1, len(text), "Syntax error: mismatched input ')'"]]


def test_deeply_nested_mistakes_are_refused() -> None:
    [[_, column, message]] = _find_issues("(" * 100 + "a")
    assert column == 102
    assert str(message).startswith("Syntax error: ")
