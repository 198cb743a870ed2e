"""Field management as Kubernetes did it: recorded programs and recorded requests."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK, GroupVersion
from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.wire.apply import FieldManager
from quarterdeck.wire.apply.schema_type import build_root_type
from quarterdeck.wire.apply.typed_objects import TypedObjects
from quarterdeck.wire.status import ApiError

GOLDEN = Path(__file__).parents[3] / "golden"
PROGRAMS = [
    json.loads(line) for line in (GOLDEN / "apply" / "programs.jsonl").read_text().splitlines()
]
RECORDED = [
    json.loads(line) for line in (GOLDEN / "kube-apiserver-v1.32.4.jsonl").read_text().splitlines()
]
BY_TITLE = {case["title"]: case for case in RECORDED}


class LiteralObjects(TypedObjects):
    """Leaves nulls in merged objects, as the recorded field manager did without a defaulter."""

    def normalize(
        self, merged: dict[str, Any], live: dict[str, Any], config: Mapping[str, Any]
    ) -> dict[str, Any]:
        return merged


class Literal(FieldManager):
    """A field manager of literal objects."""

    def __init__(self, node: Node, api_version: str, *, reset: Iterable[str]) -> None:
        super().__init__(node, api_version, reset=reset)
        self._objects = LiteralObjects(node, build_root_type(node), api_version)


def run(manager: FieldManager, live: dict[str, Any] | None, step: dict[str, Any]) -> dict[str, Any]:
    if step["verb"] == "update":
        return manager.update(live, step["object"], manager=step["manager"], now="T")
    return manager.apply(
        live, step["object"], manager=step["manager"], force=step["force"], now="T"
    )


def masked(value: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(value))
    for entry in result["metadata"].get("managedFields", []):
        entry["time"] = "T" if entry.get("time") else None
    return result


@pytest.mark.parametrize("program", PROGRAMS[1:], ids=lambda program: f"{len(program['steps'])}")
def test_recorded_program_runs_to_the_recorded_results(program: dict[str, Any]) -> None:
    manager = Literal(from_openapi(PROGRAMS[0]["schema"]), "g/v1", reset=program["reset"])
    live: dict[str, Any] | None = None
    for step, expected in zip(program["steps"], program["results"], strict=True):
        if "error" in expected:
            with pytest.raises(ApiError) as caught:
                run(manager, live, step)
            assert caught.value.message.splitlines() == expected["error"].splitlines()
            _assert_same_causes(caught.value, expected.get("causes", []))
            continue
        live = run(manager, live, step)
        assert masked(live) == expected["object"]


def _assert_same_causes(error: ApiError, expected: list[dict[str, str]]) -> None:
    causes = error.to_status().get("details", {}).get("causes", [])
    order = [(cause["message"], cause["field"]) for cause in causes]
    assert sorted(order) == [(cause["message"], cause["field"]) for cause in expected]


WIDGET = from_openapi(BY_TITLE["crd"]["body"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
WIDGET_VERSION = "stable.example.com/v1"


def node_of(body: dict[str, Any]) -> Node:
    version = GroupVersion.parse(body["apiVersion"])
    return builtins.find_node(GVK(version.group, version.version, body["kind"])) or WIDGET


def field_manager(body: dict[str, Any], subresource: str = "") -> FieldManager:
    return FieldManager(
        node_of(body),
        body["apiVersion"],
        subresource=subresource,
        reset=["spec"] if subresource == "status" else ["status"],
    )


def entries(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body["metadata"].get("managedFields", [])
    return found


def without_entries(body: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: part for name, part in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}


CREATED = [
    "crd", "create", "unknown warn", "unknown ignore", "generateName",
    "bad finalizer", "deployment", "secret stringData", "configmap no kind",
    "configmap immutable", "statefulset", "daemonset", "replicaset", "cronjob", "ingress",
    "networkpolicy", "hpa", "pdb", "role", "rolebinding", "lease", "event",
]  # fmt: skip


@pytest.mark.parametrize("title", CREATED)
def test_created_objects_are_owned_by_their_creator(title: str) -> None:
    case = BY_TITLE[title]
    query = dict(parse_qsl(urlsplit(case["request"]["path"]).query))
    expected = entries(case["body"])
    created = field_manager(case["body"]).update(
        None,
        without_entries(case["body"]),
        manager=query.get("fieldManager", "replay"),
        now=expected[0]["time"],
    )
    assert json.dumps(entries(created), sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_what_the_server_sets_after_decoding_is_owned_by_nobody() -> None:
    case = BY_TITLE["pvc"]
    sent = builtins.decode(case["request"]["body"], GVK("", "v1", "PersistentVolumeClaim")).object
    sent["spec"]["volumeMode"] = "Filesystem"
    expected = entries(case["body"])
    created = field_manager(case["body"]).update(
        None, sent, manager="replay", now=expected[0]["time"]
    )
    assert entries(created) == expected


UPDATED = [
    ("create", "put", "putter"),
    ("put", "merge", "merger"),
    ("merge", "merge no-op", "merger"),
    ("merge no-op", "jsonpatch", "replay"),
    ("apply drops field", "status by main", "replay"),
    ("status", "scale set", "replay"),
    ("deployment", "strategic add container", "replay"),
    ("strategic add container", "strategic env", "replay"),
    ("strategic env", "strategic delete env", "replay"),
    ("strategic delete env", "strategic order", "replay"),
    ("strategic order", "strategic replace", "replay"),
]


@pytest.mark.parametrize(("before", "title", "manager"), UPDATED)
def test_updates_move_ownership_as_recorded(before: str, title: str, manager: str) -> None:
    body = BY_TITLE[title]["body"]
    now = max(entry["time"] for entry in entries(body) if "time" in entry)
    updated = field_manager(body).update(
        BY_TITLE[before]["body"], without_entries(body), manager=manager, now=now
    )
    assert entries(updated) == entries(body)


def test_status_updates_are_entries_of_their_own() -> None:
    live, body = BY_TITLE["apply deployment"]["body"], BY_TITLE["deployment status"]["body"]
    now = max(entry["time"] for entry in entries(body))
    updated = field_manager(body, "status").update(
        live, without_entries(body), manager="replay", now=now
    )
    assert entries(updated) == entries(body)


def test_metadata_sent_to_status_is_owned_although_it_is_dropped_later() -> None:
    live, body = BY_TITLE["status by main"]["body"], BY_TITLE["status"]["body"]
    sent = without_entries(body)
    sent["metadata"] = {**sent["metadata"], "labels": {"l": "1"}}
    now = max(entry["time"] for entry in entries(body))
    updated = field_manager(body, "status").update(live, sent, manager="replay", now=now)
    assert entries(updated) == entries(body)


APPLIED = [
    ("jsonpatch", "apply force", "bob", True, ""),
    ("apply force", "apply drops field", "bob", False, ""),
    (None, "apply creates", "bob", False, ""),
    ("apply creates", "apply second manager", "eve", False, ""),
    ("apply second manager", "apply second manager leaves", "eve", False, ""),
    ("apply second manager leaves", "apply status", "ctl", False, "status"),
    ("strategic replace", "apply deployment", "gitops", True, ""),
]


@pytest.mark.parametrize(("before", "title", "manager", "force", "subresource"), APPLIED)
def test_applies_give_the_recorded_object(
    before: str | None, title: str, manager: str, force: bool, subresource: str
) -> None:
    case = BY_TITLE[title]
    body = case["body"]
    live = BY_TITLE[before]["body"] if before else None
    now = max(entry["time"] for entry in entries(body))
    applied = field_manager(body, subresource).apply(
        live, case["request"]["body"], manager=manager, force=force, now=now
    )
    assert json.dumps(entries(applied), sort_keys=True) == json.dumps(entries(body), sort_keys=True)
    if live is not None:
        assert applied["spec"] == body["spec"]
        assert applied.get("status", {}) == body.get("status", {})


def test_conflict_is_answered_as_recorded() -> None:
    case = BY_TITLE["apply conflict"]
    with pytest.raises(ApiError) as caught:
        field_manager(case["request"]["body"]).apply(
            BY_TITLE["jsonpatch"]["body"],
            case["request"]["body"],
            manager="bob",
            force=False,
            now="",
        )
    assert caught.value.to_status() == case["body"]


def test_managed_fields_in_an_applied_configuration_are_refused_as_recorded() -> None:
    case = BY_TITLE["apply managedFields set"]
    with pytest.raises(ApiError) as caught:
        field_manager(case["request"]["body"]).apply(
            BY_TITLE["apply status"]["body"],
            case["request"]["body"],
            manager="x",
            force=False,
            now="",
        )
    assert caught.value.to_status() == case["body"]
