"""Custom resources against what a real server answered, at the level of strategies."""

import json
import pathlib
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.identity import GVR
from quarterdeck.server.custom import (
    accepted_names,
    build_custom_resources,
    build_definition_resources,
)
from quarterdeck.server.registry import metadata_validation as rules
from quarterdeck.server.registry.conversion import ConversionNeeded
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Context, Object, Resource
from quarterdeck.server.write import build_terminating
from quarterdeck.wire import json_patch, merge_patch
from quarterdeck.wire.status import ApiError, Details, Invalid

NOW = datetime(2026, 11, 15, 2, 26, 53, tzinfo=UTC)
GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "kube-apiserver-v1.32.4.jsonl"
CASES: dict[str, Any] = {
    case["title"]: case for case in map(json.loads, GOLDEN.read_text().splitlines())
}


def context(**changes: Any) -> Context:
    return Context(now=NOW, random=random.Random(1), namespace="g", **changes)


def body(title: str) -> Any:
    return json.loads(json.dumps(CASES[title]["request"]["body"]))


def create(resource: Resource, value: Object) -> Object:
    """What the server does with a POST, without storing."""
    strategy = resource.strategy
    shaped = strategy.normalize(value).value
    strategy.default(shaped)
    metadata = shaped["metadata"]
    if resource.namespaced:
        metadata.setdefault("namespace", "g")
    metadata["uid"], metadata["generation"] = "u", 1
    strategy.prepare_create(shaped, context())
    problems = rules.validate_metadata(
        metadata, strategy.validate_name, namespaced=resource.namespaced
    )
    errors: list[FieldError] = [
        *problems,
        *strategy.validate_create(shaped, context(metadata_errors=tuple(problems))),
    ]
    if errors:
        raise Invalid.of(resource.kind, metadata.get("name", ""), errors, group=resource.gvr.group)
    return shaped


def define(definitions: Resource, value: Object, *others: Object) -> Object:
    """A definition whose names were judged, beside others."""
    made = create(definitions, value)
    accepted = [each["status"]["acceptedNames"] for each in others]
    accepted_names.update_status(made, accepted_names.TakenNames.collect((), accepted), NOW)
    return made


def update(resource: Resource, value: Object, old: Object, subresource: str = "") -> Object:
    """What the server does with a changed object, without storing."""
    strategy, told = resource.strategy, context(subresource=subresource)
    shaped = strategy.normalize(value).value
    strategy.default(shaped)
    strategy.prepare_update(shaped, old, told)
    if strategy.bumps_generation(shaped, old, told):
        shaped["metadata"]["generation"] = old["metadata"]["generation"] + 1
    if errors := strategy.validate_update(shaped, old, told):
        name = shaped["metadata"]["name"]
        raise Invalid.of(resource.kind, name, errors, group=resource.gvr.group)
    return shaped


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    registry.put("definitions", build_definition_resources())
    return registry


@pytest.fixture
def definitions(registry: Registry) -> Resource:
    resource = registry.get(GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
    assert resource is not None
    return resource


@pytest.fixture
def widgets(definitions: Resource) -> Resource:
    [resource] = build_custom_resources(define(definitions, body("crd")))
    return resource


def without_server_fields(value: Object) -> Object:
    copy = json.loads(json.dumps(value))
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"):
        copy["metadata"].pop(name, None)
    return dict(copy)


def test_a_definition_is_established_when_it_is_accepted(definitions: Resource) -> None:
    accepted = define(definitions, body("crd"))
    expected = CASES["crd settled"]["body"]
    for condition in [*accepted["status"]["conditions"], *expected["status"]["conditions"]]:
        condition.pop("lastTransitionTime")
    assert without_server_fields(accepted) == without_server_fields(expected)


@pytest.mark.parametrize("title", ["crd not structural", "crd name mismatch", "crd bad cel"])
def test_a_bad_definition_gets_the_words_of_the_real_server(
    definitions: Resource, title: str
) -> None:
    with pytest.raises(Invalid) as caught:
        create(definitions, body(title))
    assert caught.value.to_status() == CASES[title]["body"]


def test_the_resource_is_what_discovery_shows(widgets: Resource) -> None:
    shown = CASES["crd discovery"]["body"]["resources"][0]
    assert widgets.gvr.resource == shown["name"]
    assert list(widgets.verbs) == shown["verbs"]
    assert widgets.storage_version_hash == shown["storageVersionHash"]
    assert (widgets.singular, widgets.kind) == (shown["singularName"], shown["kind"])
    assert (list(widgets.short_names), list(widgets.categories)) == (["wd"], ["all"])
    assert set(widgets.subresources) == {"status", "scale"}


@pytest.mark.parametrize(
    "title", ["create", "create dry-run", "null spec", "unknown warn", "bad finalizer"]
)
def test_a_good_object_looks_as_on_the_real_server(widgets: Resource, title: str) -> None:
    made = create(widgets, body(title))
    assert without_server_fields(made) == without_server_fields(CASES[title]["body"])
    warnings = widgets.strategy.find_warnings(made, None, context())
    if title == "bad finalizer":
        header = CASES[title]["headers"]["Warning"]
        assert [f'299 - "{text}"'.replace('"nope"', r"\"nope\"") for text in warnings] == [header]


@pytest.mark.parametrize(
    "title",
    [
        "schema invalid",
        "pattern invalid",
        "too many items",
        "type invalid",
        "missing required",
        "cel",
        "dup map key",
        "dup set item",
        "bad name",
        "no name",
        "bad label",
        "bad annotation",
        "bad owner",
    ],
)
def test_a_bad_object_gets_the_words_of_the_real_server(widgets: Resource, title: str) -> None:
    with pytest.raises(Invalid) as caught:
        create(widgets, body(title))
    assert caught.value.to_status() == CASES[title]["body"]


def test_unknown_fields_are_named(widgets: Resource) -> None:
    assert widgets.strategy.normalize(body("unknown strict")).unknown == ("spec.foo",)


def test_metadata_is_pruned_and_named(widgets: Resource) -> None:
    value = {"metadata": {"name": "a", "foo": 1, "labels": {}, "creationTimestamp": None}}
    normalized = widgets.strategy.normalize(value)
    assert normalized.value == {"metadata": {"name": "a"}}
    assert normalized.unknown == ("metadata.foo",)


def test_metadata_of_a_wrong_type_is_a_bad_request(widgets: Resource) -> None:
    with pytest.raises(ApiError, match=r"Go struct field ObjectMeta.labels of type string"):
        widgets.strategy.normalize({"metadata": {"labels": {"a": 1}}})


def test_changes_follow_the_real_server(widgets: Resource) -> None:
    """One object through puts and patches; generation, status and errors as recorded."""
    old = create(widgets, body("create"))
    put = body("put")
    put["metadata"] |= {"uid": "u", "namespace": "g"}
    old = update(widgets, put | {"metadata": old["metadata"]}, old)
    assert without_server_fields(old) == without_server_fields(CASES["put"]["body"])
    with pytest.raises(Invalid) as caught:
        update(widgets, merge_patch.apply(old, body("transition rule")), old)
    assert caught.value.to_status() == CASES["transition rule"]["body"]
    for title in ("merge", "merge no-op"):
        old = update(widgets, merge_patch.apply(old, body(title)), old)
        assert without_server_fields(old) == without_server_fields(CASES[title]["body"])
    operations = json_patch.parse(body("jsonpatch"))
    old = update(widgets, json_patch.apply(old, operations), old)
    assert without_server_fields(old) == without_server_fields(CASES["jsonpatch"]["body"])


def test_the_status_has_its_own_endpoint(widgets: Resource) -> None:
    old = create(widgets, body("create dry-run"))
    same = update(widgets, merge_patch.apply(old, body("status by main")), old)
    assert same == old
    changed = update(widgets, merge_patch.apply(old, body("status")), old, "status")
    assert changed["status"] == {"x": 1, "replicas": 2}
    assert {**changed, "status": None} == {**old, "status": None}


def test_the_scale_is_read_and_written(widgets: Resource) -> None:
    value: Object = {"spec": {"size": 1}, "status": {"replicas": 2}}
    with pytest.raises(ApiError) as caught:
        widgets.strategy.read_scale(value)
    assert caught.value.to_status() == CASES["scale absent"]["body"]
    widgets.strategy.write_scale(value, 4)
    assert widgets.strategy.read_scale(value) == (4, 2, "")


def test_tables_show_the_printer_columns(widgets: Resource) -> None:
    expected = CASES["table"]["body"]
    names = [column.name for column in widgets.strategy.columns]
    assert names == [column["name"] for column in expected["columnDefinitions"]]
    assert [column.description for column in widgets.strategy.columns] == [
        column["description"] for column in expected["columnDefinitions"]
    ]
    made = create(widgets, body("create")) | {"spec": {"size": 5}}
    made["metadata"]["creationTimestamp"] = "2026-11-15T02:26:53Z"
    assert widgets.strategy.build_cells(made, NOW) == ["a", 5, "0s"]
    made.pop("spec")
    assert widgets.strategy.build_cells(made, NOW) == ["a", None, "0s"]


def test_selectable_fields_are_text(widgets: Resource) -> None:
    assert widgets.strategy.selectable == {"spec.color"}
    assert widgets.strategy.get_field_values({"spec": {"color": "blue"}}) == {"spec.color": "blue"}
    assert widgets.strategy.get_field_values({}) == {"spec.color": ""}


def test_taken_names_are_not_accepted(definitions: Resource) -> None:
    first = define(definitions, body("crd"))
    other = body("crd")
    other["metadata"]["name"] = "gadgets.stable.example.com"
    other["spec"]["names"] |= {"plural": "gadgets", "singular": "gadget"}
    refused = define(definitions, other, first)
    conditions = {each["type"]: each for each in refused["status"]["conditions"]}
    assert conditions["NamesAccepted"]["reason"] == "ListKindConflict"
    assert conditions["NamesAccepted"]["message"] == '"WidgetList" is already in use'
    assert conditions["Established"]["status"] == "False"
    assert build_custom_resources(refused) == ()


def test_objects_of_a_definition_that_is_going_are_not_created(definitions: Resource) -> None:
    definition = define(definitions, body("crd"))
    assert definitions.strategy.begin_delete(definition, context())
    definition["metadata"]["deletionTimestamp"] = "2026-11-15T02:26:53Z"
    assert definition["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    [terminating] = build_custom_resources(definition)
    assert terminating.is_terminating
    refusal = build_terminating(terminating, "w")
    assert refusal.message.startswith("create not allowed while custom resource definition")
    assert refusal.details == Details(group="stable.example.com", kind="widgets")


def test_several_versions_differ_in_name_only(definitions: Resource) -> None:
    value = body("crd")
    second = json.loads(json.dumps(value["spec"]["versions"][0])) | {"name": "v2", "storage": False}
    value["spec"]["versions"].append(second)
    first, other = build_custom_resources(define(definitions, value))
    stored = other.strategy.to_stored({"apiVersion": "stable.example.com/v2", "kind": "Widget"})
    assert stored["apiVersion"] == "stable.example.com/v1"
    assert first.strategy.stored_as_served
    assert not other.strategy.stored_as_served
    assert other.strategy.to_served(stored)["apiVersion"] == "stable.example.com/v2"


def test_conversion_by_webhook_asks_for_what_is_not_known_yet(definitions: Resource) -> None:
    value = body("crd")
    second = json.loads(json.dumps(value["spec"]["versions"][0])) | {"name": "v2", "storage": False}
    value["spec"]["versions"].append(second)
    value["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://example.com/convert"},
            "conversionReviewVersions": ["v1"],
        },
    }
    _, other = build_custom_resources(define(definitions, value))
    stored = {"apiVersion": "stable.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    with pytest.raises(ConversionNeeded) as caught:
        other.strategy.to_served(stored)
    needed = caught.value
    assert (needed.value, needed.target) == (stored, "stable.example.com/v2")
    answer = {**stored, "apiVersion": needed.target}
    key = needed.converter.remember(stored, needed.target, answer)
    newer = {**stored, "metadata": {"name": "w", "resourceVersion": "7"}}
    served = other.strategy.to_served(newer)
    assert (served["apiVersion"], served["metadata"]) == (needed.target, newer["metadata"])
    needed.converter.forget(key)
    with pytest.raises(ConversionNeeded):
        other.strategy.to_served(stored)
