"""Whether an apply would change anything."""

from typing import Any

import msgspec
import pytest

from quarterdeck.runtime.reconcile.apply import is_apply_redundant


def managed(fields: dict[str, Any], manager: str = "me") -> list[dict[str, Any]]:
    return [{"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}]


CURRENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "a",
        "namespace": "ns",
        "labels": {"app": "x", "foreign": "y"},
        "managedFields": managed(
            {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:ports": {
                        'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}
                    },
                    "f:type": {},
                    "f:set": {'v:"one"': {}},
                },
            }
        ),
    },
    "spec": {
        "type": "ClusterIP",
        "ports": [{"port": 80, "protocol": "TCP", "name": "web"}, {"port": 81, "protocol": "TCP"}],
        "set": ["one", "two"],
    },
}
DESIRED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a", "namespace": "ns", "labels": {"app": "x"}},
    "spec": {"type": "ClusterIP", "ports": [{"port": 80, "name": "web"}], "set": ["one"]},
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(DESIRED))
    place: Any = copy
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


def test_applying_what_we_own_with_the_same_values_is_a_noop() -> None:
    assert is_apply_redundant(DESIRED, CURRENT, manager="me")
    assert not is_apply_redundant(DESIRED, CURRENT, manager="somebody else")
    assert not is_apply_redundant(DESIRED, CURRENT, manager="me", subresource="status")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(["spec", "type"], "NodePort", id="changed value"),
        pytest.param(["spec", "type"], None, id="field given up"),
        pytest.param(["metadata", "labels", "new"], "z", id="new field"),
        pytest.param(["metadata", "labels", "foreign"], "y", id="field of another owner"),
        pytest.param(["spec", "ports", 0, "name"], "other", id="changed list entry"),
        pytest.param(["spec", "ports"], [], id="list entry given up"),
        pytest.param(["spec", "set"], ["one", "three"], id="new set member"),
    ],
)
def test_any_difference_is_sent(path: list[Any], value: Any) -> None:
    assert not is_apply_redundant(changed(path, value), CURRENT, manager="me")


def test_applying_a_name_alone_is_a_noop_where_the_object_exists() -> None:
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    present = {**named, "metadata": {"name": "a", "uid": "1", "labels": {"set-by": "the server"}}}
    assert is_apply_redundant(named, present, manager="me")
    assert not is_apply_redundant(named, {}, manager="me")
    assert not is_apply_redundant(named, CURRENT, manager="me")  # it gives up what it owns


def test_fields_owned_in_another_version_are_sent() -> None:
    owned = {
        "manager": "me",
        "operation": "Apply",
        "apiVersion": "v1beta1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    }
    desired = {"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a"}}
    current = {**desired, "metadata": {"name": "a", "managedFields": [owned]}}
    assert not is_apply_redundant(desired, current, manager="me")
    assert not is_apply_redundant({**desired, "spec": {"size": 1}}, current, manager="me")


def owning(fields: dict[str, Any], **members: Any) -> dict[str, Any]:
    metadata = {"name": "a", "managedFields": managed(fields)}
    return {"apiVersion": "v1", "kind": "Thing", "metadata": metadata, **members}


def wanting(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, **members}


@pytest.mark.parametrize(
    ("desired", "current"),
    [
        pytest.param(
            wanting(spec={"size": 1}),
            owning({"f:spec": {"f:size": {}}}, spec="x"),
            id="an object that became a value",
        ),
        pytest.param(
            wanting(spec=["one"]),
            owning({"f:spec": {'v:"one"': {}}}, spec={"one": 1}),
            id="a list that became an object",
        ),
        pytest.param(
            wanting(spec=["one"]),
            owning({"f:spec": {'v:"one"': {}}}, spec=["two"]),
            id="a set member that others removed",
        ),
        pytest.param(
            wanting(spec=["one"]),
            owning({"f:spec": {"i:0": {}}}, spec=["one"]),
            id="owned by position, which servers write no more",
        ),
        pytest.param(
            wanting(spec=[{"port": 80}]),
            owning({"f:spec": {'k:{"port":80}': {"f:port": {}}}}, spec=[{"port": 81}]),
            id="a list item that others removed",
        ),
        pytest.param(
            wanting(spec=["x"]),
            owning({"f:spec": {'k:{"port":80}': {"f:port": {}}}}, spec=[{"port": 80}]),
            id="a value in the place of an item",
        ),
    ],
)
def test_in_doubt_the_apply_is_sent(desired: dict[str, Any], current: dict[str, Any]) -> None:
    assert not is_apply_redundant(desired, current, manager="me")


def test_a_configuration_without_metadata_is_compared_by_its_fields() -> None:
    current = owning({"f:spec": {"f:size": {}}}, spec={"size": 1, "foreign": 2})
    desired = {"apiVersion": "v1", "kind": "Thing", "spec": {"size": 1}}
    assert is_apply_redundant(desired, current, manager="me")
