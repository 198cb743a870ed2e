"""An authorizer with one rule: members of `system:masters` may do everything.

Everybody may read health, version and discovery; authenticated users may review themselves.
"""

from quarterdeck.server.authentication.user import ACCOUNTS, AUTHENTICATED, MASTERS, User
from quarterdeck.server.authorization.authorizer import Attributes

_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/openapi")


_ISSUER_PATHS = ("/.well-known/openid-configuration", "/openid/v1/jwks")


_SELF_REVIEWS = frozenset(
    {
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
    }
)


class AdministratorsOnly:
    """Members of `system:masters` may do everything, others next to nothing."""

    def allows(self, user: User, attributes: Attributes) -> bool:
        """The one rule of this authorizer."""
        if MASTERS in user.groups:
            return True
        if attributes.path:
            is_known = is_public(attributes.path) or (
                ACCOUNTS in user.groups and attributes.path in _ISSUER_PATHS
            )
            return attributes.verb == "get" and is_known
        return (
            AUTHENTICATED in user.groups
            and attributes.verb == "create"
            and (attributes.group, attributes.resource) in _SELF_REVIEWS
        )


def is_public(path: str) -> bool:
    """Health, version and discovery: what clients read before they know who they are."""
    if path.startswith(_PUBLIC_PATHS):
        return True
    parts = path.strip("/").split("/")
    return (parts[0] == "api" and len(parts) <= 2) or (parts[0] == "apis" and len(parts) <= 3)
