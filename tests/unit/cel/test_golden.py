"""The recorded answers of kube-apiserver v1.32.4 that concern CEL."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.cel import RuleSet, compile_rules
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node, from_openapi

_GOLDEN = Path(__file__).parents[2] / "golden" / "kube-apiserver-v1.32.4.jsonl"


def _record(title: str) -> dict[str, Any]:
    for line in _GOLDEN.read_text().splitlines():
        record: dict[str, Any] = json.loads(line)
        if record["title"] == title:
            return record
    raise LookupError(title)


def _schema(title: str) -> Node:
    version = _record(title)["request"]["body"]["spec"]["versions"][0]
    return from_openapi(version["schema"]["openAPIV3Schema"])


def _causes(errors: list[FieldError]) -> list[dict[str, str]]:
    return [
        {"reason": error.type.value, "message": error.format_body(), "field": error.field}
        for error in errors
    ]


def _rules() -> RuleSet:
    rules = compile_rules(_schema("crd"))
    assert isinstance(rules, RuleSet)
    return rules


def test_creating_a_crd_with_bad_expressions_reports_what_kubernetes_reports() -> None:
    errors = compile_rules(_schema("crd bad cel"))
    assert isinstance(errors, list)
    assert _causes(errors) == _record("crd bad cel")["body"]["details"]["causes"]


def test_a_broken_rule_is_reported_as_kubernetes_reports_it() -> None:
    record = _record("cel")
    errors = _rules().validate(record["request"]["body"])
    assert _causes(errors) == record["body"]["details"]["causes"]


def test_a_transition_rule_compares_with_the_old_object() -> None:
    record = _record("transition rule")
    old = {"spec": {"size": 3}}
    errors = _rules().validate(record["request"]["body"], old)
    assert _causes(errors) == record["body"]["details"]["causes"]


@pytest.mark.parametrize("size", [1, 10])
def test_what_the_rules_allow_passes(size: int) -> None:
    assert _rules().validate({"spec": {"size": size}}) == []
