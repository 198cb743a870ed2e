"""An authorizer that allows everything, for tests that are not about rights."""

from collections.abc import Sequence

from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.server.authorization.policy_rule import ALL, PolicyRule

_EVERYTHING = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


class AlwaysAllow:
    """Allows every request, also anonymous ones."""

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Always true."""
        return True

    def explain(self, user: User, attributes: Attributes) -> str:
        """Return no reason: no rule decides, everything is allowed."""
        return ""

    def list_rules(self, user: User, namespace: str) -> Sequence[PolicyRule]:
        """Everything."""
        return _EVERYTHING
