"""Definitions that are refused, and the words for it; definitions that may change, and how."""

import copy
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.server.custom import build_definition_resources
from quarterdeck.server.custom.accepted_names import (
    TakenNames,
    accept_names,
    get_approval,
    update_status,
)
from quarterdeck.server.registry.resource import Context, Object, Resource

CONTEXT = Context(now=datetime(2026, 11, 15, tzinfo=UTC), random=random.Random(1))


def version(name: str = "v1", **members: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        **members,
    }


def definition(**spec: Any) -> Object:
    return {
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version()],
            **spec,
        },
    }


@pytest.fixture
def definitions() -> Resource:
    [resource] = build_definition_resources()
    return resource


def made(definitions: Resource, value: Object) -> Object:
    value = definitions.strategy.normalize(copy.deepcopy(value)).value
    definitions.strategy.default(value)
    definitions.strategy.prepare_create(value, CONTEXT)
    update_status(value, TakenNames(), CONTEXT.now)
    return value


def problems(definitions: Resource, value: Object) -> list[str]:
    value = made(definitions, value)
    return [str(error) for error in definitions.strategy.validate_create(value, CONTEXT)]


def test_a_good_definition_has_no_problem(definitions: Resource) -> None:
    assert problems(definitions, definition()) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"group": "nodot"},
            'spec.group: Invalid value: "nodot": should be a domain with at least',
        ),
        (
            {"scope": "Galaxy"},
            'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster"',
        ),
        ({"scope": ""}, "spec.scope: Required value"),
        (
            {"versions": [version(), version("v2", storage=True)]},
            "spec.versions: Invalid value: []apiextensions.CustomResourceDefinitionVersion{2",
        ),
        (
            {"versions": [version("V1")]},
            'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist of',
        ),
        (
            {"versions": [version(schema=None)]},
            "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
        ),
        (
            {"names": {"plural": "gadgets", "kind": "Gadget", "listKind": "Gadget"}},
            'spec.names.listKind: Invalid value: "Gadget": kind and listKind may not be the same',
        ),
        (
            {"names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["G!"]}},
            'spec.names.shortNames[0]: Invalid value: "G!"',
        ),
        (
            {"versions": [version(deprecationWarning="x")]},
            'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for',
        ),
        (
            {"versions": [version(subresources={"scale": {"specReplicasPath": ".status.n"}})]},
            'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be',
        ),
        (
            {"versions": [version(additionalPrinterColumns=[{"name": "A", "type": "odd"}])]},
            'spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of boolean,',
        ),
        (
            {"versions": [version(selectableFields=[{"jsonPath": ".spec.nope"}])]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.nope": is an invalid path',
        ),
        (
            {"versions": [version(selectableFields=[{"jsonPath": ".spec"}])]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of',
        ),
        (
            {"conversion": {"strategy": "Webhook"}},
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set",
        ),
        (
            {"preserveUnknownFields": True},
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true",
        ),
    ],
)
def test_a_bad_definition_is_refused(
    definitions: Resource, spec: dict[str, Any], expected: str
) -> None:
    found = problems(definitions, definition(**spec))
    assert any(text.startswith(expected) for text in found), found


def test_versions_that_differ_are_reported_at_their_place(definitions: Resource) -> None:
    bad = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}
    found = problems(definitions, definition(versions=[version(), version("v2", schema=bad)]))
    place = "spec.versions[1].schema.openAPIV3Schema.properties[spec].type"
    assert found == [f"{place}: Required value: must not be empty for specified object fields"]


@pytest.mark.parametrize(
    ("annotation", "state"),
    [
        ("", "Missing"),
        ("unapproved, an experiment", "Bypassed"),
        ("https://github.com/kubernetes/kubernetes/pull/1", "Approved"),
        ("nope", "Invalid"),
    ],
)
def test_groups_of_kubernetes_need_approval(
    definitions: Resource, annotation: str, state: str
) -> None:
    value = definition(group="x.k8s.io")
    value["metadata"] = {
        "name": "gadgets.x.k8s.io",
        "annotations": {"api-approved.kubernetes.io": annotation},
    }
    assert (get_approval(value) or ("",))[0] == state
    found = problems(definitions, value)
    assert bool(found) is (state in ("Missing", "Invalid"))


def test_what_objects_rest_on_may_not_change(definitions: Resource) -> None:
    old = made(definitions, definition())
    new = copy.deepcopy(old)
    new["spec"]["scope"] = "Cluster"
    new["spec"]["names"]["kind"] = "Other"
    found = definitions.strategy.validate_update(new, old, CONTEXT)
    assert [error.field for error in found] == ["spec.scope", "spec.names.kind"]


def test_an_expression_that_was_stored_before_may_use_what_a_new_one_may_not(
    definitions: Resource,
) -> None:
    old = made(definitions, definition())
    rules = [{"rule": "self.spec.a.split(',').all(i, part, part.size() > i)"}]
    changed = copy.deepcopy(old)
    schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = rules
    schema["properties"]["spec"]["properties"]["a"]["maxLength"] = 9
    found = definitions.strategy.validate_update(changed, old, CONTEXT)
    assert len(found) == 1
    assert "undeclared reference to 'all' (in container '')" in str(found[0])
    assert definitions.strategy.validate_update(copy.deepcopy(changed), changed, CONTEXT) == []


def test_a_new_storage_version_is_remembered_beside_the_old(definitions: Resource) -> None:
    old = made(definitions, definition(versions=[version(), version("v2")]))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["storage"] = False
    new["spec"]["versions"][1]["storage"] = True
    definitions.strategy.prepare_update(new, old, CONTEXT)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]
    assert definitions.strategy.bumps_generation(new, old, CONTEXT)


def test_accepted_names_stay_accepted() -> None:
    taken = TakenNames(resources=frozenset({"gs"}), kinds=frozenset())
    wanted = {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gs"]}
    refused = accept_names(wanted, {}, taken)
    assert (refused.reason, refused.message) == ("ShortNamesConflict", '"gs" is already in use')
    assert accept_names(wanted, {"shortNames": ["gs"]}, taken).is_accepted
