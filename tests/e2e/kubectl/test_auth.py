"""kubectl auth and --as: who am I, what may I do, and roles that are reconciled."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %(name)s}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %(name)s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %(name)s}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: %(user)s}
"""


def test_whoami_names_user_and_groups(kubectl: Any) -> None:
    me = json.loads(kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert me["username"] == "kubernetes-admin"
    assert "system:masters" in me["groups"]
    other = kubectl("auth", "whoami", "--as", "alice", "--as-group", "devs")
    assert "alice" in other
    assert "devs" in other


def test_roles_are_reconciled_and_then_hold(kubectl: Any) -> None:
    alice = ("--as", "alice-of-auth")
    assert kubectl("auth", "can-i", "list", "pods", *alice, code=1).startswith("no")
    manifest = ROLES % {"name": "auth-reader", "user": "alice-of-auth"}
    kubectl("auth", "reconcile", "-f", "-", text=manifest)
    assert kubectl("auth", "can-i", "list", "pods", *alice) == "yes\n"
    assert kubectl("auth", "can-i", "get", "/metrics", *alice) == "yes\n"
    assert kubectl("auth", "can-i", "delete", "pods", *alice, code=1).startswith("no")
    assert kubectl("get", "pods", *alice) == ""
    refused = kubectl("get", "secrets", *alice, code=1)
    assert 'User "alice-of-auth" cannot list resource "secrets"' in refused
    again = kubectl("auth", "reconcile", "-f", "-", text=manifest)
    assert "auth-reader" in again


def test_list_of_rights_shows_resources_and_paths(kubectl: Any) -> None:
    kubectl("auth", "reconcile", "-f", "-", text=ROLES % {"name": "lister", "user": "lister"})
    shown = kubectl("auth", "can-i", "--list", "--as", "lister")
    lines = [line.split() for line in shown.splitlines()]
    assert ["pods", "[]", "[]", "[get", "list]"] in lines
    assert any("[/metrics]" in line for line in lines)
    assert any("selfsubjectreviews.authentication.k8s.io" in line for line in lines)


def test_only_who_may_impersonate_does(kubectl: Any) -> None:
    manifest = ROLES % {"name": "no-masks", "user": "plain"}
    kubectl("auth", "reconcile", "-f", "-", text=manifest)
    raw = ("create", "--raw", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "-f", "-")
    review = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    shown = kubectl(*raw, "--as", "plain", text=review)
    assert json.loads(shown)["status"]["userInfo"]["username"] == "plain"
