"""Principals: a name, an e-mail address and groups, as an identity provider gave them."""

import msgspec

SYSTEM_PREFIX = "system:"
"""Prefix of names that Kubernetes reserves; names from an OpenID issuer must not have it."""
SERVICE_ACCOUNT = "system:serviceaccount:"
MASTERS = "system:masters"
"""Members may see everything, as in Kubernetes; accepted only from the API server."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """A person, a program or a service account."""

    username: str
    email: str = ""
    groups: tuple[str, ...] = ()

    @property
    def is_service_account(self) -> bool:
        """Whether it is a service account of Kubernetes."""
        return self.username.startswith(SERVICE_ACCOUNT)

    @property
    def is_master(self) -> bool:
        """Whether no policy restricts it."""
        return MASTERS in self.groups
