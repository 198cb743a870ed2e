"""The field manager: ownership, case by case."""

import json
from typing import Any

import pytest

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.wire.apply import FieldManager
from quarterdeck.wire.status import ApiError, Conflict

V1 = "example.com/v1"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "port": {"x-kubernetes-int-or-string": True},
        "struct": {"type": "object", "properties": {"x": {"type": "string"}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "name": {"type": "string"},
                },
            },
        },
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nullable": {"type": "string", "nullable": True},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}
NODE = from_openapi({"type": "object", "properties": {"spec": SPEC}})
FIELDS = FieldManager(NODE, V1)


def thing(metadata: dict[str, Any] | None = None, /, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": V1,
        "kind": "Thing",
        "metadata": {"name": "x", **(metadata or {})},
        "spec": spec,
    }


def apply(
    live: dict[str, Any] | None,
    config: dict[str, Any],
    manager: str = "one",
    *,
    force: bool = False,
    now: str = "T1",
    fields: FieldManager = FIELDS,
) -> dict[str, Any]:
    return fields.apply(live, config, manager=manager, force=force, now=now)


def update(
    live: dict[str, Any] | None,
    new: dict[str, Any],
    manager: str = "one",
    *,
    now: str = "T1",
    fields: FieldManager = FIELDS,
) -> dict[str, Any]:
    return fields.update(live, new, manager=manager, now=now)


def owners(value: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{entry['manager']} {entry['operation']}": entry["fieldsV1"]
        for entry in value["metadata"].get("managedFields", [])
    }


def spec(fields: dict[str, Any]) -> dict[str, Any]:
    return {"f:spec": fields}


def test_an_applier_owns_what_it_names() -> None:
    live = apply(None, thing(text="a", struct={"x": "y"}))
    assert owners(live) == {"one Apply": spec({"f:struct": {"f:x": {}}, "f:text": {}})}


def test_identity_and_fields_of_the_server_have_no_manager() -> None:
    live = apply(None, thing({"uid": "u", "labels": {"a": "b"}}))
    assert owners(live) == {"one Apply": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {}}}


def test_the_same_value_is_shared() -> None:
    live = apply(apply(None, thing(text="a")), thing(text="a"), "two")
    assert owners(live) == {
        "one Apply": spec({"f:text": {}}),
        "two Apply": spec({"f:text": {}}),
    }


def test_another_value_is_a_conflict() -> None:
    live = apply(None, thing(text="a"))
    with pytest.raises(Conflict) as caught:
        apply(live, thing(text="b"), "two")
    assert caught.value.message == ('Apply failed with 1 conflict: conflict with "one": .spec.text')
    assert caught.value.to_status()["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.text"}
    ]


def test_conflicts_name_every_field_of_every_manager() -> None:
    live = update(None, thing(number=1), "updater")
    live = apply(live, thing(text="a", labels={"k": "v"}))
    with pytest.raises(Conflict) as caught:
        apply(live, thing(text="b", labels={"k": "w"}, number=2), "two")
    assert caught.value.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "one":\n- .spec.text\n- .spec.labels.k\n'
        f'conflicts with "updater" using {V1}:\n- .spec.number'
    )


def test_conflicts_name_the_subresource() -> None:
    status = FieldManager(NODE, V1, subresource="status")
    live = update(None, thing(text="a"), "ctl", fields=status)
    with pytest.raises(Conflict) as caught:
        apply(live, thing(text="b"), "two")
    assert f'conflict with "ctl" with subresource "status" using {V1}' in caught.value.message


def test_force_takes_the_field() -> None:
    live = apply(apply(None, thing(text="a", number=1)), thing(text="b"), "two", force=True)
    assert live["spec"] == {"text": "b", "number": 1}
    assert owners(live) == {
        "one Apply": spec({"f:number": {}}),
        "two Apply": spec({"f:text": {}}),
    }


def test_a_manager_that_owns_nothing_more_is_forgotten() -> None:
    live = apply(apply(None, thing(text="a")), thing(text="b"), "two", force=True)
    assert list(owners(live)) == ["two Apply"]


def test_fields_no_longer_applied_are_removed() -> None:
    live = apply(apply(None, thing(text="a", number=1, set=["x", "y"])), thing(set=["y"]))
    assert live["spec"] == {"set": ["y"]}


def test_what_another_applier_owns_stays() -> None:
    live = apply(apply(None, thing(text="a")), thing(text="a"), "two")
    live = apply(live, thing())
    assert live["spec"] == {"text": "a"}
    assert owners(live) == {"one Apply": spec({}), "two Apply": spec({"f:text": {}})}


def test_what_an_updater_owns_stays() -> None:
    live = apply(None, thing(labels={"a": "1"}))
    live = update(live, thing(labels={"a": "1", "b": "2"}), "updater")
    assert apply(live, thing())["spec"] == {"labels": {"b": "2"}}


def test_items_of_a_list_are_owned_by_their_keys() -> None:
    live = apply(None, thing(ports=[{"port": 80}, {"port": 80, "protocol": "UDP"}]))
    tcp, udp = 'k:{"port":80,"protocol":"TCP"}', 'k:{"port":80,"protocol":"UDP"}'
    assert owners(live)["one Apply"]["f:spec"]["f:ports"] == {
        tcp: {".": {}, "f:port": {}},
        udp: {".": {}, "f:port": {}, "f:protocol": {}},
    }


def test_two_appliers_share_a_list() -> None:
    live = apply(None, thing(ports=[{"port": 80, "name": "a"}]))
    live = apply(live, thing(ports=[{"port": 81}]), "two")
    assert live["spec"]["ports"] == [{"port": 80, "name": "a"}, {"port": 81}]
    live = apply(live, thing())
    assert live["spec"]["ports"] == [{"port": 81}]


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param(["a", "b", "c"], ["c", "a"], ["b", "c", "a"], id="the applier's order"),
        pytest.param(["a", "b"], ["z"], ["a", "b", "z"], id="new items go last"),
        pytest.param(["a", "b"], ["z", "b"], ["a", "z", "b"], id="new items before known ones"),
        pytest.param(["a", "x", "b"], ["b"], ["a", "x", "b"], id="others keep their place"),
        pytest.param(["a"], [], ["a"], id="nothing applied"),
    ],
)
def test_sets_merge_in_order(live: list[str], applied: list[str], merged: list[str]) -> None:
    before = update(None, thing(set=live), "updater")
    assert apply(before, thing(set=applied))["spec"]["set"] == merged


def test_atomic_lists_and_maps_are_taken_whole() -> None:
    live = apply(None, thing(list=["a"], whole={"a": "1"}))
    assert owners(live) == {"one Apply": spec({"f:list": {}, "f:whole": {}})}
    live = apply(live, thing(list=["b"], whole={"b": "2"}), "two", force=True)
    assert live["spec"] == {"list": ["b"], "whole": {"b": "2"}}


def test_types_are_deduced_where_the_schema_says_nothing() -> None:
    live = apply(None, thing(free={"deep": {"a": 1, "list": [{"b": 2}]}}))
    assert owners(live) == {
        "one Apply": spec({"f:free": {"f:deep": {".": {}, "f:a": {}, "f:list": {}}}})
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, True), (True, 1), ({"a": 1}, 1), (1, {"a": 1}), ([1], {"a": 1}), ("1", 1)],
)
def test_a_value_of_another_kind_is_a_change(before: object, after: object) -> None:
    live = apply(None, thing(free={"v": before}))
    with pytest.raises(Conflict):
        apply(live, thing(free={"v": after}), "two")


def test_numbers_are_compared_by_value() -> None:
    live = apply(None, thing(free={"v": 1}))
    assert "two Apply" in owners(apply(live, thing(free={"v": 1.0}), "two"))


def test_embedded_objects_have_metadata_of_their_own() -> None:
    embedded = {"kind": "K", "metadata": {"finalizers": ["a"]}, "data": {"x": 1}}
    live = apply(None, thing(embedded=embedded))
    assert owners(live)["one Apply"]["f:spec"]["f:embedded"] == {
        "f:data": {".": {}, "f:x": {}},
        "f:kind": {},
        "f:metadata": {"f:finalizers": {'v:"a"': {}}},
    }


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        pytest.param({"nope": 1}, ".spec.nope: field not declared in schema", id="unknown"),
        pytest.param(
            {"text": 1},
            ".spec.text: expected string, got &value.valueUnstructured{Value:1}",
            id="number for a string",
        ),
        pytest.param(
            {"number": "1"},
            ".spec.number: expected numeric (int or float), got string",
            id="string for a number",
        ),
        pytest.param({"flag": 1}, ".spec.flag: expected boolean, got &{1}", id="boolean"),
        pytest.param({"struct": 1}, ".spec.struct: expected map, got &{1}", id="map"),
        pytest.param({"list": 1}, ".spec.list: expected list, got &{1}", id="list"),
        pytest.param(
            {"set": ["a", "a"]},
            '.spec.set: duplicate entries for key [="a"]',
            id="twice in a set",
        ),
        pytest.param(
            {"ports": [{"protocol": "TCP"}]},
            ".spec.ports: element 0: associative list with keys has an element that omits key "
            'field "port" (and doesn\'t have default value)',
            id="no key",
        ),
        pytest.param(
            {"set": [None]},
            ".spec.set: element 0: associative list without keys has an element that's an "
            "explicit null",
            id="null in a set",
        ),
    ],
)
def test_configurations_that_do_not_fit_are_refused(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ApiError) as caught:
        apply(None, thing({"namespace": "ns"}, **config))
    assert caught.value.message == (
        f"failed to create typed patch object (ns/x; {V1}, Kind=Thing): {problem}"
    )


def test_all_problems_are_listed() -> None:
    with pytest.raises(ApiError, match=r"errors:\n  \.spec\.text: .*\n  \.spec\.number: "):
        apply(None, thing(text=1, number="x"))


def test_times_move_only_with_a_change() -> None:
    live = apply(None, thing(text="a"), now="T1")
    same = apply(live, thing(text="a"), now="T2")
    assert same == live
    changed = apply(live, thing(text="b"), now="T3")
    assert changed["metadata"]["managedFields"][0]["time"] == "T3"


def test_update_without_a_change_keeps_the_time() -> None:
    live = update(None, thing(text="a"), now="T1")
    assert update(live, live, now="T2") == live


def test_an_update_takes_what_it_changes() -> None:
    live = apply(None, thing(text="a", number=1))
    live = update(live, thing(text="b", number=1), "updater")
    assert owners(live) == {
        "one Apply": spec({"f:number": {}}),
        "updater Update": spec({"f:text": {}}),
    }


def test_fields_that_an_update_removes_have_no_manager() -> None:
    live = apply(None, thing(text="a", number=1))
    live = update(live, thing(number=1), "updater")
    assert owners(live) == {"one Apply": spec({"f:number": {}})}


def test_duplicates_of_live_lists_are_tolerated() -> None:
    live = update(None, thing(set=["a", "a", "b"]))
    assert owners(live)["one Update"]["f:spec"]["f:set"] == {
        ".": {},
        'v:"a"': {},
        'v:"b"': {},
    }
    assert apply(live, thing(set=["b"]), "two")["spec"]["set"] == ["a", "a", "b"]


def test_items_without_identity_leave_an_update_untracked() -> None:
    live = update(None, thing(ports=[{"protocol": "TCP"}]))
    assert "managedFields" not in live["metadata"]


def test_the_client_may_forget_all_ownership() -> None:
    live = apply(None, thing({"uid": "u"}, text="a"))
    resets: tuple[list[dict[str, Any]], ...] = ([], [{}])
    for reset in resets:
        sent = thing({"uid": "u", "managedFields": reset}, text="b")
        assert "managedFields" not in update(live, sent)["metadata"]


def test_a_reset_through_a_subresource_is_ignored() -> None:
    fields = FieldManager(NODE, V1, subresource="status")
    live = apply(None, thing({"uid": "u"}, text="a"))
    sent = thing({"uid": "u", "managedFields": [{}]}, text="a")
    assert owners(update(live, sent, fields=fields)) == owners(live)


def test_managed_fields_sent_by_the_client_count_when_they_can_be_read() -> None:
    live = apply(None, thing({"uid": "u"}, text="a", number=1))
    entry = {**live["metadata"]["managedFields"][0], "manager": "renamed"}
    sent = thing({"uid": "u", "managedFields": [entry]}, text="a", number=1)
    assert list(owners(update(live, sent, "x"))) == ["renamed Apply"]


@pytest.mark.parametrize(
    "entry",
    [
        {"manager": "x", "operation": "Nope", "apiVersion": V1, "fieldsType": "FieldsV1"},
        {"manager": "x", "operation": "Apply", "fieldsType": "FieldsV1"},
        {"manager": "x", "operation": "Apply", "apiVersion": V1},
        {"manager": "x", "operation": "Apply", "apiVersion": V1, "fieldsType": "V9"},
        {
            "manager": "x",
            "operation": "Apply",
            "apiVersion": V1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"k:nonsense": {}},
        },
    ],
    ids=["operation", "apiVersion", "no type", "unknown type", "bad key"],
)
def test_managed_fields_that_cannot_be_read_are_ignored(entry: dict[str, Any]) -> None:
    live = apply(None, thing({"uid": "u"}, text="a"))
    sent = thing({"uid": "u", "managedFields": [entry]}, text="a")
    assert owners(update(live, sent, "x")) == owners(live)
    broken = thing({"uid": "u", "managedFields": [entry]}, text="a")
    with pytest.raises(ApiError, match="failed to decode managed fields"):
        apply(broken, thing(text="a"))


def test_objects_without_ownership_stay_without_until_the_first_apply() -> None:
    live = thing({"uid": "u"}, text="a")
    assert "managedFields" not in update(live, thing({"uid": "u"}, text="b"))["metadata"]
    applied = apply(live, thing(text="a"))
    assert list(owners(applied)) == ["one Apply", "before-first-apply Update"]
    with pytest.raises(Conflict, match="before-first-apply"):
        apply(live, thing(text="b"))


def test_update_managers_are_capped_at_ten() -> None:
    live = update(None, thing(), "creator", now="T00")
    for index in range(12):
        labels = {**live["spec"].get("labels", {}), f"k{index}": "v"}
        live = update(live, thing(labels=labels), f"m{index}", now=f"T{index + 10}")
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(managers) == 10
    assert managers[0] == "ancient-changes"
    assert "m11" in managers and "m0" not in managers
    assert live["metadata"]["managedFields"][0]["time"] == "T12"


def test_appliers_are_not_capped() -> None:
    live: dict[str, Any] | None = None
    for index in range(15):
        live = apply(live, thing(labels={f"k{index}": "v"}), f"m{index}")
    assert live is not None and len(owners(live)) == 15


def test_fields_an_endpoint_resets_are_not_owned() -> None:
    fields = FieldManager(NODE, V1, reset=["spec.struct"])
    live = apply(None, thing(text="a", struct={"x": "1"}), fields=fields)
    assert owners(live) == {"one Apply": spec({"f:text": {}})}


def test_without_a_name_the_manager_is_unknown() -> None:
    assert list(owners(update(None, thing(text="a"), ""))) == ["unknown Update"]


def kubectl_applied(**members: Any) -> dict[str, Any]:
    text = json.dumps(thing(**members))
    return update(
        None,
        thing({"uid": "u", "annotations": {LAST_APPLIED: text}}, **members),
        "kubectl-client-side-apply",
    )


def test_kubectl_takes_over_what_it_applied_from_the_client_side() -> None:
    live = apply(kubectl_applied(text="a", number=1), thing(text="b"), "kubectl")
    assert live["spec"]["text"] == "b"
    assert json.loads(live["metadata"]["annotations"][LAST_APPLIED]) == thing(text="b")


def test_kubectl_does_not_take_what_others_changed_since() -> None:
    live = update(
        kubectl_applied(text="a", number=1),
        {**kubectl_applied(text="a", number=1), "spec": {"text": "other", "number": 1}},
        "other",
    )
    with pytest.raises(Conflict) as caught:
        apply(live, thing(text="b", number=2), "kubectl")
    assert [cause.field for cause in caught.value.details.causes] == [".spec.text"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"apiVersion":"v9"}', f'{{"apiVersion":"{V1}","x":1}}']
)
def test_a_malformed_last_applied_annotation_is_ignored(text: str) -> None:
    live = update(
        None, thing({"uid": "u", "annotations": {LAST_APPLIED: text}}, text="a"), "someone"
    )
    with pytest.raises(Conflict):
        apply(live, thing(text="b"), "kubectl")


def test_an_annotation_that_grew_too_large_is_dropped() -> None:
    live = kubectl_applied(text="a")
    applied = apply(live, thing(text="a", free={"x": "y" * 300_000}), "kubectl")
    assert LAST_APPLIED not in applied["metadata"]["annotations"]


V2 = "example.com/v2"
OTHER = from_openapi(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"words": {"type": "string"}}}},
    }
)


def convert(value: dict[str, Any], version: str) -> dict[str, Any] | None:
    """v2 calls v1's text words."""
    names = {V1: ("words", "text"), V2: ("text", "words")}
    if version not in names:
        return None
    before, after = names[version]
    spec = value.get("spec") or {}
    found = {after if key == before else key: part for key, part in spec.items()}
    return {**value, "apiVersion": version, "spec": found}


def versioned(api_version: str, node: Node) -> FieldManager:
    return FieldManager(node, api_version, versions={V1: NODE, V2: OTHER}, convert=convert)


def test_entries_of_other_versions_are_compared_in_their_version() -> None:
    first, second = versioned(V1, NODE), versioned(V2, OTHER)
    live = apply(None, thing(text="a"), fields=first)
    live = convert(live, V2) or {}
    config = {**thing(words="b"), "apiVersion": V2}
    with pytest.raises(Conflict, match="text"):
        apply(live, config, "two", fields=second)
    live = apply(live, config, "two", force=True, fields=second)
    assert owners(live) == {"two Apply": spec({"f:words": {}})}


def test_an_applier_moves_to_another_version() -> None:
    first, second = versioned(V1, NODE), versioned(V2, OTHER)
    live = convert(apply(None, thing(text="a"), fields=first), V2) or {}
    live = apply(live, {**thing(), "apiVersion": V2}, fields=second)
    assert "words" not in (live.get("spec") or {})
    assert [entry["apiVersion"] for entry in live["metadata"]["managedFields"]] == [V2]


def test_what_is_owned_at_another_version_stays() -> None:
    first, second = versioned(V1, NODE), versioned(V2, OTHER)
    live = apply(apply(None, thing(text="a"), fields=first), thing(text="a"), "two", fields=first)
    live = convert(live, V2) or {}
    live = apply(live, {**thing(), "apiVersion": V2}, fields=second)
    assert live["spec"] == {"words": "a"}


def test_entries_of_versions_that_are_gone_are_forgotten() -> None:
    live = apply(None, thing(text="a"), "old")
    live["metadata"]["managedFields"][0]["apiVersion"] = "example.com/v0"
    live = apply(live, thing(text="b"), fields=versioned(V1, NODE))
    assert list(owners(live)) == ["one Apply"]


def test_versions_that_differ_in_name_only_need_no_conversion() -> None:
    live = apply(None, thing(text="a"))
    fields = FieldManager(NODE, V2)
    with pytest.raises(Conflict):
        apply(live, {**thing(text="b"), "apiVersion": V2}, "two", fields=fields)
    again = apply(live, {**thing(text="b"), "apiVersion": V2}, fields=fields)
    assert [entry["apiVersion"] for entry in again["metadata"]["managedFields"]] == [V2]


def test_sets_written_before_a_list_became_atomic_are_brought_up_to_date() -> None:
    live = apply(None, thing(set=["a"]), "old")
    atomic = json.loads(json.dumps(SPEC))
    del atomic["properties"]["set"]["x-kubernetes-list-type"]
    node = from_openapi({"type": "object", "properties": {"spec": atomic}})
    fields = FieldManager(node, V1)
    with pytest.raises(Conflict) as caught:
        apply(live, thing(set=["b"]), "two", fields=fields)
    assert caught.value.message.endswith(".spec.set")


def test_sets_written_before_a_map_became_atomic_are_brought_up_to_date() -> None:
    live = apply(None, thing(labels={"a": "1"}), "old")
    atomic = json.loads(json.dumps(SPEC))
    atomic["properties"]["labels"]["x-kubernetes-map-type"] = "atomic"
    node = from_openapi({"type": "object", "properties": {"spec": atomic}})
    live = update(live, live, "touch", fields=FieldManager(node, V1))
    assert owners(live)["old Apply"] == spec({"f:labels": {}})


@pytest.mark.parametrize("field", ["free", "struct"])
def test_sets_keep_what_stands_below_fields_without_a_schema(field: str) -> None:
    live = apply(None, thing(**{field: {"x": "1"}}), "old")
    live = update(live, {**live, "spec": {**live["spec"], "text": "b"}}, "touch")
    assert owners(live)["old Apply"] == spec({f"f:{field}": {"f:x": {}}})
    gone = apply(live, thing(), "old")
    assert gone["spec"].get(field) in (None, {})


def test_nulls_that_merging_leaves_are_dropped_unless_they_are_applied() -> None:
    live = apply(None, thing(struct={"x": "1"}, text="a"))
    live = apply(live, thing(struct={}, text=None, nullable=None), force=True)
    assert live["spec"] == {"text": None, "nullable": None, "struct": None}
    live = apply(live, thing(nullable=None), force=True)
    assert live["spec"] == {"nullable": None}


def deployment(**container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", **container}]}}},
    }


def test_built_in_objects_come_back_as_go_writes_them() -> None:
    node = builtins.find_node(GVK("apps", "v1", "Deployment"))
    assert node is not None
    fields = FieldManager(node, "apps/v1", reset=["status"])
    config = deployment(resources={"limits": {"cpu": "1000m"}})
    live = apply(None, config, fields=fields)
    container = live["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert live["spec"]["strategy"] == {} and live["status"] == {}
    with pytest.raises(ApiError, match="field not declared in schema"):
        apply(live, deployment(imag="x"), fields=fields)


def test_built_in_values_go_cannot_read_are_refused() -> None:
    node = builtins.find_node(GVK("apps", "v1", "Deployment"))
    assert node is not None
    with pytest.raises(ApiError, match="quantities must match"):
        apply(
            None,
            deployment(resources={"limits": {"cpu": "much"}}),
            fields=FieldManager(node, "apps/v1"),
        )
