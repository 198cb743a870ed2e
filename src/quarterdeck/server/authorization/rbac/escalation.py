"""Checks that writes to roles and bindings grant no more than the user has.

The author of a role must hold all its rules, or have the verb `escalate` on it; the author of a
binding must hold all rules of its role, or have the verb `bind` on that role.
"""

from typing import Any

from quarterdeck.meta.field import quote
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.server.authorization.policy_rule import ALL, PolicyRule, parse_rules
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.authorization.rbac.coverage import describe_rules, find_missing
from quarterdeck.server.authorization.rbac.grants import resolve_role
from quarterdeck.server.authorization.rbac.policy import GROUP
from quarterdeck.wire.status import Forbidden, NotFound

ROLES = ("roles", "clusterroles")
BINDINGS = ("rolebindings", "clusterrolebindings")
_EVERYTHING = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)

Object = dict[str, Any]


def check_role(
    authorizer: RbacAuthorizer,
    user: User,
    resource: str,
    *,
    value: Object,
    old: Object | None = None,
) -> None:
    """Refuse a role with rules its writer does not hold; `old` is the role before an update.

    The aggregation rule of a role may be set, changed or removed by administrators only.

    Raises:
        Forbidden: listing the rules that are missing.
    """
    namespace, name = _get_place(value)
    asked = Attributes(
        verb="escalate", group=GROUP, resource=resource, namespace=namespace, name=name
    )
    if MASTERS_GROUP in user.groups or authorizer.allows(user, asked):
        return
    held = authorizer.get_permissions(user, namespace).rules
    if missing := find_missing(held, parse_rules(value.get("rules"))):
        raise Forbidden.of(resource, name, _describe(user, missing), group=GROUP)
    if _is_aggregated(value, old) and find_missing(held, _EVERYTHING):
        text = "must have cluster-admin privileges to use the aggregationRule"
        raise Forbidden.of(resource, name, text, group=GROUP)


def _is_aggregated(*roles: Object | None) -> bool:
    return any(role is not None and role.get("aggregationRule") is not None for role in roles)


def check_binding(authorizer: RbacAuthorizer, user: User, resource: str, value: Object) -> None:
    """Refuse a binding to a role with rules its writer does not hold.

    Raises:
        NotFound: if there is no such role, so that its rules are unknown.
        Forbidden: listing the rules that are missing.
    """
    if MASTERS_GROUP in user.groups:
        return
    namespace, name = _get_place(value)
    source, home, role = resolve_role(value)
    asked = Attributes(
        verb="bind", group=GROUP, resource=source.value, namespace=namespace, name=role
    )
    if authorizer.allows(user, asked):
        return
    rules = authorizer.grants.get_role_rules(source, home, role)
    if rules is None:
        raise NotFound.of(resource, role, group=GROUP)
    held = authorizer.get_permissions(user, namespace).rules
    if missing := find_missing(held, rules):
        raise Forbidden.of(resource, name, _describe(user, missing), group=GROUP)


def _get_place(value: Object) -> tuple[str, str]:
    metadata = value["metadata"]
    return metadata.get("namespace") or "", metadata.get("name") or ""


def _describe(user: User, missing: list[PolicyRule]) -> str:
    groups = " ".join(quote(group) for group in user.groups)
    return (
        f"user {quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not"
        f" currently held:\n{describe_rules(missing)}"
    )
