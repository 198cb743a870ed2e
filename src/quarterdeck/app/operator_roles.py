"""The permissions of the operators in `up`: the same as `quarterdeck manifests` grants.

A rule that a controller does not declare is noticed in `up` already, not only in a real cluster.
Simulators of outside systems run beside the operators; they have a role of their own, which exists
in `up` only.
"""

from collections.abc import Sequence
from typing import Any

from quarterdeck.app import definitions, manifests
from quarterdeck.app.installation import DEFAULT_INSTALLATION, NAME, NAMESPACE
from quarterdeck.app.parts import Part
from quarterdeck.client.client import Client
from quarterdeck.runtime.controller import rbac
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.server.authentication.service_accounts.tokens import build_account_user

OPERATORS = build_account_user(NAMESPACE, NAME)
"""The user that the operators act as, a service account, in `up` as in a cluster."""
_SIMULATORS = "quarterdeck-simulators"
_FILLED_BY_OPERATORS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Kinds that are only created, not applied: that would clear what an earlier start registered."""


async def grant_roles(admin: Client, parts: Sequence[Part]) -> None:
    """Apply namespace, service account, roles and bindings of the operators."""
    documents = [
        manifests.build_namespace(DEFAULT_INSTALLATION),
        *manifests.build_permissions(DEFAULT_INSTALLATION, parts).values(),
    ]
    registrations = [each for each in documents if each["kind"] in _FILLED_BY_OPERATORS]
    await definitions.apply(admin.raw, [each for each in documents if each not in registrations])
    await definitions.apply_missing(admin.raw, registrations)


async def grant_simulators(
    admin: Client, parts: Sequence[Part], running: Sequence[Controller[Any]]
) -> None:
    """Apply a role for the running controllers that do not belong to operators."""
    declared = {each.effective_name for part in parts for each in part.declare_controllers()}
    others = [each for each in running if each.effective_name not in declared]
    if not others:
        return
    rules = rbac.build_rules(others, leader_election=False)
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _SIMULATORS},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": _SIMULATORS},
        "subjects": [{"apiGroup": group, "kind": "User", "name": OPERATORS.name}],
    }
    await definitions.apply(admin.raw, [rbac.build_cluster_role(_SIMULATORS, rules), binding])
