import pytest

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.apis.rbac import ClusterRole
from quarterdeck.app import user_roles
from quarterdeck.codegen import roles
from quarterdeck.kit import json, yaml
from quarterdeck.meta.objects import decode


@pytest.mark.parametrize("role", roles.ROLES)
def test_each_role_is_a_cluster_role_that_aggregates(role: str) -> None:
    manifest = roles.build_manifest(Application.KIND, role)
    typed = decode(ClusterRole, json.encode(manifest))
    assert typed.metadata.name == f"application-{role}-role"
    assert list(typed.metadata.labels.values()) == ["true"]
    main, status, scale = typed.rules
    assert main.verbs == roles.ROLES[role]
    assert (status.resources, status.verbs) == (("applications/status",), ("get",))
    assert ("update" in scale.verbs) is (role != "viewer")


def test_a_viewer_changes_nothing() -> None:
    manifest = roles.build_manifest(Application.KIND, "viewer")
    assert {verb for rule in manifest["rules"] for verb in rule["verbs"]} == {*user_roles.READ}


def test_files_are_valid_yaml() -> None:
    assert all(yaml.load(file.text)["kind"] == "ClusterRole" for file in roles.build_files())
