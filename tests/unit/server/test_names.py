"""The string rules and the metadata rules, in Kubernetes' words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.meta_validation import metadata, names


@pytest.mark.parametrize(
    ("rule", "good"),
    [
        (names.dns1123_label, ["a", "a-b", "0", "a" * 63]),
        (names.dns1123_subdomain, ["a", "a.b", "example.com", "a" * 63 + "." + "b" * 63]),
        (names.dns1035_label, ["a", "a-1"]),
        (names.path_segment, ["system:node", "a b", "Ä"]),
        (names.qualified_name, ["a", "A_b.c", "example.com/A", "x" * 63]),
        (names.label_value, ["", "a", "A_b.c-d", "x" * 63]),
    ],
)
def test_good_names_have_no_problems(rule: names.Rule, good: list[str]) -> None:
    for name in good:
        assert rule(name) == [], name


@pytest.mark.parametrize(
    ("rule", "bad", "text"),
    [
        pytest.param(names.dns1123_label, "a.b", "must not contain dots", id="dots in a label"),
        pytest.param(names.dns1123_label, "A", "a lowercase RFC 1123 label", id="upper case"),
        pytest.param(names.dns1123_label, "a" * 64, "no more than 63 bytes", id="long label"),
        pytest.param(names.dns1123_subdomain, "-a", "RFC 1123 subdomain", id="leading dash"),
        pytest.param(names.dns1123_subdomain, "a" * 254, "no more than 253", id="long name"),
        pytest.param(names.dns1035_label, "1a", "a DNS-1035 label", id="leading digit"),
        pytest.param(names.path_segment, "..", "may not be '..'", id="parent"),
        pytest.param(names.path_segment, "a/b", "may not contain '/'", id="slash"),
        pytest.param(names.qualified_name, "/a", "prefix part must be non-empty", id="no prefix"),
        pytest.param(names.qualified_name, "a/", "name part must be non-empty", id="no name"),
        pytest.param(names.qualified_name, "a/b/c", "a qualified name must", id="two slashes"),
        pytest.param(names.qualified_name, "A/b", "prefix part a lowercase", id="bad prefix"),
        pytest.param(names.label_value, "a b", "a valid label must be", id="space"),
    ],
)
def test_bad_names_are_explained(rule: names.Rule, bad: str, text: str) -> None:
    assert any(text in problem for problem in rule(bad)), rule(bad)


@given(st.text(max_size=300))
def test_no_name_breaks_a_rule_itself(text: str) -> None:
    for rule in (
        names.dns1123_label,
        names.dns1123_subdomain,
        names.dns1035_label,
        names.path_segment,
        names.qualified_name,
        names.label_value,
    ):
        assert isinstance(rule(text), list)


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True))
def test_every_label_is_a_subdomain_and_a_qualified_name(text: str) -> None:
    assert not names.dns1123_label(text)
    assert not names.dns1123_subdomain(text)
    assert not names.qualified_name(text)


def test_generated_name_may_end_in_a_dash() -> None:
    assert names.object_name("subdomain", "web-", is_prefix=True) == []
    assert names.object_name("subdomain", "web-", is_prefix=False)


def _subdomain(name: str, *, is_prefix: bool) -> list[str]:
    return names.object_name("subdomain", name, is_prefix=is_prefix)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"name": "a", "namespace": "d"}, [], id="good"),
        pytest.param(
            {"namespace": "d"},
            ["metadata.name: Required value: name or generateName is required"],
            id="no name",
        ),
        pytest.param({"name": "a"}, ["metadata.namespace: Required value"], id="no namespace"),
        pytest.param(
            {"name": "a", "namespace": "d", "annotations": {"a": "x" * 300_000}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="annotations",
        ),
        pytest.param(
            {
                "name": "a",
                "namespace": "d",
                "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}],
            },
            ["is disallowed from being an owner"],
            id="event owns",
        ),
        pytest.param(
            {
                "name": "a",
                "namespace": "d",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "A", "name": n, "uid": n, "controller": True}
                    for n in ("x", "y")
                ],
            },
            ["Only one reference can have Controller set to true"],
            id="two controllers",
        ),
        pytest.param(
            {"name": "a", "namespace": "d", "finalizers": ["orphan", "foregroundDeletion"]},
            ["cannot be both set"],
            id="two policies",
        ),
    ],
)
def test_metadata_of_new_objects(members: dict[str, Any], expected: list[str]) -> None:
    found = [str(error) for error in metadata.check_new(members, _subdomain, namespaced=True)]
    assert len(found) == len(expected), found
    for text, problem in zip(expected, found, strict=True):
        assert text in problem


def test_cluster_scoped_objects_have_no_namespace() -> None:
    found = metadata.check_new({"name": "a", "namespace": "d"}, _subdomain, namespaced=False)
    assert [str(error) for error in found] == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_deleted_objects_take_no_new_finalizers() -> None:
    old = {"name": "a", "deletionTimestamp": "now", "finalizers": ["a/b"]}
    assert not metadata.check_changed({"name": "a", "finalizers": []}, old)
    found = metadata.check_changed({"name": "a", "finalizers": ["a/b", "c/d"]}, old)
    assert 'found new finalizers []string{"c/d"}' in str(found[0])
