"""The port of authorizers, the attributes they decide on, and the check of a request."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.policy_rule import PolicyRule
from quarterdeck.wire.status import Details, Forbidden


class Attributes(NamedTuple):
    """The attributes of a request; `path` is set for requests that name no resource."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Authorizer(Protocol):
    """Decides whether a user is permitted to make a request."""

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether the user is permitted; a refusal has no reason, as in Kubernetes."""
        ...

    def explain(self, user: User, attributes: Attributes) -> str:
        """Return why a request is allowed, for access reviews; empty if it is not, or unknown."""
        ...

    def list_rules(self, user: User, namespace: str) -> Sequence[PolicyRule]:
        """Return the rules that a user holds in a namespace, for SelfSubjectRulesReview."""
        ...


def check_authorized(authorizer: Authorizer, user: User, attributes: Attributes) -> None:
    """Check that a user is permitted to make a request; the error has Kubernetes' text.

    Raises:
        Forbidden: naming user, verb and resource or path.
    """
    if not authorizer.allows(user, attributes):
        raise build_forbidden(user, attributes)


def build_forbidden(user: User, attributes: Attributes) -> Forbidden:
    """Build the 403 for a request that the user is not permitted to make."""
    if attributes.path:
        return Forbidden(
            f'forbidden: User "{user.name}" cannot {attributes.verb} path "{attributes.path}"',
            details=Details(),
        )
    resource, group = attributes.resource, attributes.group
    full = f"{resource}/{attributes.subresource}" if attributes.subresource else resource
    where = f'in the namespace "{attributes.namespace}"'
    if not attributes.namespace:
        where = "at the cluster scope"
    return Forbidden.of(
        resource,
        attributes.name,
        f'User "{user.name}" cannot {attributes.verb} resource "{full}" in API group "{group}"'
        f" {where}",
        group=group,
    )
