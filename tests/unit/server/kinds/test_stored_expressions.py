"""Expressions of policies and webhooks: new ones may use less than those that are stored."""

import copy
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.server.kinds import (
    mutating_admission_policies,
    validating_admission_policies,
    webhook_configurations,
)
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.resource import Context, Object

_CONTEXT = Context(now=datetime(2026, 11, 15, tzinfo=UTC), random=random.Random(1))
_NEWER = "object.items.all(i, item, item > i)"
_REFUSED = "undeclared reference to 'all' (in container '')"
_CONDITIONS = [{"name": "one", "expression": _NEWER}]


def _build_policy(**spec: Any) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    match = {"resourceRules": [{**rule, "resources": ["pods"]}]}
    return {"metadata": {"name": "one"}, "spec": {"matchConstraints": match, **spec}}


_PATCH = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
_HOOK = {
    "name": "one.example.com",
    "clientConfig": {"url": "https://127.0.0.1/one"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "matchConditions": _CONDITIONS,
}


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (validating_admission_policies.POLICY, _build_policy(validations=[{"expression": _NEWER}])),
        (
            validating_admission_policies.POLICY,
            _build_policy(validations=[{"expression": "true"}], matchConditions=_CONDITIONS),
        ),
        (
            mutating_admission_policies.POLICY,
            _build_policy(
                mutations=[_PATCH],
                variables=[{"name": "x", "expression": _NEWER}],
                reinvocationPolicy="Never",
            ),
        ),
        (webhook_configurations.VALIDATING, {"metadata": {}, "webhooks": [_HOOK]}),
        (webhook_configurations.MUTATING, {"metadata": {}, "webhooks": [_HOOK]}),
    ],
)
def test_an_expression_may_stay_that_may_not_be_added(rules: Rules, value: Object) -> None:
    stored = copy.deepcopy(value)
    rules.default(stored)
    messages = [str(error) for error in rules.validate_new(stored, _CONTEXT)]
    assert [_REFUSED in message for message in messages] == [True]
    assert list(rules.validate_change(copy.deepcopy(stored), stored, _CONTEXT)) == []
