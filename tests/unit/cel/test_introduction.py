"""Which functions and macros an expression may use in which release, by recorded answers.

The answers are those of the environments that k8s.io/apiserver builds in these releases.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from newest import being

from quarterdeck import cel
from quarterdeck.meta.schema import from_openapi

_GOLDEN = Path(__file__).parents[2] / "golden"
_RECORDED = {"1.32": "v1.32.10", "1.36": "v1.36.3"}


def _read_answers() -> Iterator[tuple[str, dict[str, Any]]]:
    for release, version in _RECORDED.items():
        for line in (_GOLDEN / f"cel-libraries-{version}.jsonl").read_text().splitlines():
            yield release, json.loads(line)


def _find_issues(text: str, stored: frozenset[str] | None) -> list[list[object]]:
    try:
        cel.Environment({"self": cel.DYN}, stored=stored).compile(text, result=None)
    except cel.CompileError as error:
        return [[issue.line, issue.column, issue.message] for issue in error.issues]
    return []


@pytest.mark.parametrize(
    ("release", "answer"),
    list(_read_answers()),
    ids=[f"{release}-{answer['expression']}" for release, answer in _read_answers()],
)
def test_a_new_expression_may_use_what_the_release_lets_it_use(
    release: str, answer: dict[str, Any]
) -> None:
    with being(release):
        assert _find_issues(answer["expression"], frozenset()) == answer["new"]


@pytest.mark.parametrize(
    "text",
    sorted({each["expression"] for _, each in _read_answers() if not each["stored"]}),
)
def test_a_stored_expression_may_use_everything(text: str) -> None:
    assert _find_issues(text, None) == []
    assert _find_issues(text, frozenset({text})) == []


def _build_schema(rule: str) -> dict[str, Any]:
    numbers = {"type": "array", "maxItems": 9, "items": {"type": "integer"}}
    rules = [{"rule": rule, "messageExpression": "'%d'.format([self.n[0]])"}]
    return {"type": "object", "properties": {"n": numbers}, "x-kubernetes-validations": rules}


def test_a_rule_that_was_stored_before_still_compiles_when_the_definition_changes() -> None:
    rule = "self.n.all(i, v, v > i)"
    node = from_openapi(_build_schema(rule))
    assert isinstance(cel.compile_rules(node), cel.RuleSet)
    assert isinstance(cel.compile_rules(node, stored={rule}), cel.RuleSet)
    errors = cel.compile_rules(node, stored=frozenset())
    assert isinstance(errors, list)
    assert "undeclared reference to 'all' (in container '')" in errors[0].detail
