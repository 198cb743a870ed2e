"""May they: the second seam of the pipeline.

Until roles exist there is one rule: administrators may do everything, everybody may see health,
version and discovery, and whoever is somebody may ask about themselves.
"""

from typing import NamedTuple, Protocol

from quarterdeck.server.authentication.user import ACCOUNTS, AUTHENTICATED, MASTERS, User
from quarterdeck.wire.status import Details, Forbidden

_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/openapi")
_ISSUER_PATHS = ("/.well-known/openid-configuration", "/openid/v1/jwks")
_SELF_REVIEWS = frozenset(
    {
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
    }
)


class Attributes(NamedTuple):
    """What somebody wants to do; `path` is set for requests that name no resource."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Authorizer(Protocol):
    """Decides whether a user may do something."""

    def allows(self, user: User, attributes: Attributes) -> bool:
        """The decision; no reason is given, as Kubernetes gives none."""
        ...


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


def check(authorizer: Authorizer, user: User, attributes: Attributes) -> None:
    """Ask, and refuse in Kubernetes' words.

    Raises:
        Forbidden: naming user, verb and resource or path.
    """
    if not authorizer.allows(user, attributes):
        raise refusal(user, attributes)


def refusal(user: User, attributes: Attributes) -> Forbidden:
    """The 403 for a user and what they wanted."""
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
