"""The metadata rules, in Kubernetes' words."""

from typing import Any

import pytest

from quarterdeck.meta import names
from quarterdeck.server.registry import metadata_validation


def _subdomain(name: str, *, is_prefix: bool) -> list[str]:
    return names.check_object_name("subdomain", name, is_prefix=is_prefix)


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
def test_metadata_of_new_objects_is_validated(members: dict[str, Any], expected: list[str]) -> None:
    found = [
        str(error)
        for error in metadata_validation.validate_metadata(members, _subdomain, namespaced=True)
    ]
    assert len(found) == len(expected), found
    for text, problem in zip(expected, found, strict=True):
        assert text in problem


def test_cluster_scoped_objects_have_no_namespace() -> None:
    found = metadata_validation.validate_metadata(
        {"name": "a", "namespace": "d"}, _subdomain, namespaced=False
    )
    assert [str(error) for error in found] == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_deleted_objects_take_no_new_finalizers() -> None:
    old = {"name": "a", "deletionTimestamp": "now", "finalizers": ["a/b"]}
    assert not metadata_validation.validate_immutables({**old, "finalizers": []}, old)
    found = metadata_validation.validate_immutables({**old, "finalizers": ["a/b", "c/d"]}, old)
    assert 'found new finalizers []string{"c/d"}' in str(found[0])
