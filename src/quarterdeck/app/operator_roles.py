"""The rights of the operators in `up`: those that `quarterdeck manifests` gives them in a cluster.

A rule that a controller forgot to declare shows at once, and not at the first user with a cluster.
Simulators of outside systems run beside the operators; they have a role of their own, which exists
in `up` only.
"""

from collections.abc import Sequence
from typing import Any

from quarterdeck.app import definitions, manifests
from quarterdeck.app.parts import Part
from quarterdeck.app.place import HERE, NAME, NAMESPACE
from quarterdeck.client.client import Client
from quarterdeck.runtime.controller import rbac
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.server.authentication.service_accounts.tokens import build_account_user

OPERATORS = build_account_user(NAMESPACE, NAME)
"""Whom the operators act as, in `up` as in a cluster."""
_SIMULATORS = "quarterdeck-simulators"
_FILLED_BY_OPERATORS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Applied empty over what an earlier start registered, nobody would be asked until it has again."""


async def grant_roles(admin: Client, parts: Sequence[Part]) -> None:
    """Apply namespace, service account, roles and bindings of the operators."""
    documents = [manifests.namespace(HERE), *manifests.permissions(HERE, parts).values()]
    registrations = [each for each in documents if each["kind"] in _FILLED_BY_OPERATORS]
    await definitions.apply(admin.raw, [each for each in documents if each not in registrations])
    await definitions.apply_missing(admin.raw, registrations)


async def grant_simulators(
    admin: Client, parts: Sequence[Part], running: Sequence[Controller[Any]]
) -> None:
    """Apply a role for the controllers that run here and are none of the operators'."""
    declared = {each.label for part in parts for each in part.controllers()}
    others = [each for each in running if each.label not in declared]
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
