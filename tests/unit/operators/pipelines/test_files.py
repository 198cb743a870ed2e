"""Pipelines in files: what lint finds, and what an import writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import yaml
from quarterdeck.operators.pipelines.importer import (
    build_manifest,
    build_manifests,
    build_object_name,
)
from quarterdeck.operators.pipelines.lint import lint
from quarterdeck.operators.pipelines.manifests import ManifestError, read_planned
from quarterdeck.operators.pipelines.ports import Remote

MANIFEST = """\
apiVersion: fleetmanagement.grafana.com/v1alpha1
kind: Pipeline
metadata: {name: web}
spec:
  contents: 'a.b "c" { }'
  matchers: [env=prod]
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("edge-host-42", "edge-host-42"),
        ("Prod_Edge.01", "prod-edge-01-14a64"),
        ("///", "c-732c4"),
        ("a" * 70, "a" * 53 + "-6bd5e"),
    ],
)
def test_names_become_names_of_objects(name: str, expected: str) -> None:
    assert build_object_name(name) == expected


@given(st.text(min_size=1, max_size=100))
def test_every_name_becomes_a_valid_one(name: str) -> None:
    found = build_object_name(name)
    assert len(found) <= 63
    assert found[0].isalnum() and found[-1].isalnum()
    assert set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_an_import_passes_its_own_lint() -> None:
    remote = Remote(id="1", name="Web Shop", contents='a.b "c" { }', matchers=("env=prod",))
    document = build_manifest(remote, namespace="shop", read_only=False)
    assert document["spec"]["name"] == "Web Shop"
    assert document["spec"]["adoptionPolicy"] == "Always"
    assert lint("x.yaml", yaml.dump(document).encode()).problems == []


def test_what_grafana_owns_is_only_mirrored() -> None:
    remote = Remote(id="9", name="web", contents="x", source_type="SOURCE_TYPE_GRAFANA")
    document = build_manifest(remote, namespace="shop", read_only=False)
    annotations = document["metadata"]["annotations"]
    assert annotations["fleetmanagement.grafana.com/import-mode"] == "read-only"
    assert annotations["fleetmanagement.grafana.com/fleet-pipeline-id"] == "9"
    assert "adoptionPolicy" not in document["spec"]


def test_what_an_operator_manages_is_left_out_and_said() -> None:
    listed = [Remote(id="1", name="ours", owner="uid"), Remote(id="2", name="theirs")]
    found = build_manifests(listed, namespace="shop", read_only=False, everything=False)
    assert [each["metadata"]["name"] for each in found.manifests] == ["theirs"]
    assert found.skipped[0].startswith("ours:")
    both = build_manifests(listed, namespace="shop", read_only=False, everything=True)
    assert len(both.manifests) == 2


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("x.yaml", MANIFEST, [], id="a good manifest"),
        pytest.param("x.alloy", 'a.b "c" { }', [], id="good Alloy"),
        pytest.param("x.alloy", 'a.b "c" {', ["x.alloy:1:"], id="bad Alloy"),
        pytest.param("x.yaml", "receivers: {}\nservice: {}", ["error"], id="bad OpenTelemetry"),
        pytest.param("x.yaml", "a: [", ["as YAML"], id="no YAML"),
        pytest.param(
            "x.yaml", MANIFEST.replace("env=prod", "env=="), ["matchers[0]"], id="matcher"
        ),
        pytest.param(
            "x.yaml", MANIFEST.replace("matchers", "matcher"), ["spec.matcher:", "empty"], id="typo"
        ),
        pytest.param("x.yaml", MANIFEST.replace("contents:", "name:"), ["exactly one"], id="none"),
        pytest.param("x.yaml", MANIFEST.replace("[env=prod]", "7"), ["matchers"], id="a type"),
    ],
)
def test_lint_finds_and_places(name: str, text: str, expected: list[str]) -> None:
    found = lint(name, text.encode())
    shown = [str(each) for each in found.problems]
    assert bool(shown) is bool(expected), shown
    for part in expected:
        assert any(part in line for line in shown), shown


def test_lint_looks_into_lists_and_past_other_kinds() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    listing = {"apiVersion": "v1", "kind": "List", "items": [yaml.load(MANIFEST)]}
    text = f"{other}---\n{yaml.dump(listing)}---\n{MANIFEST}"
    assert lint("x.yaml", text.encode()).pipelines == 2


@given(st.binary(max_size=200))
def test_lint_survives_any_file(data: bytes) -> None:
    lint("x.yaml", data)
    lint("x.alloy", data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MANIFEST.replace("{name: web}", "5"), ["Pipeline (no name)"]),
        (MANIFEST.replace("{name: web}", "[web]"), ["Pipeline (no name)"]),
        (MANIFEST.replace("kind: Pipeline", "kind: [Pipeline]"), []),
        (MANIFEST.replace("kind: Pipeline", "kind: {a: b}"), []),
        ("apiVersion: v1\nkind: List\nitems: 5\n", []),
    ],
)
def test_manifests_of_another_shape_are_no_crash(text: str, expected: list[str]) -> None:
    problems = lint("x.yaml", text.encode()).problems
    assert [each.place for each in problems] == [f"x.yaml: {place}" for place in expected]
    try:
        assert read_planned("x.yaml", text) == []
    except ManifestError as error:
        assert expected and str(error).startswith("x.yaml: ")
