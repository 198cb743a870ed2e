"""Verifies ID tokens of an OpenID Connect issuer."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.inventory.access.principal import SYSTEM_PREFIX, Principal
from quarterdeck.kit import jws
from quarterdeck.kit.oidc import Issuer, KeysNotFetched, NotVerified, OidcError
from quarterdeck.services.hub.errors import Unauthenticated, Unavailable

_EMAIL = "email"


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the claims for user name and groups."""

    username: str = _EMAIL
    groups: str = "groups"


class IdTokens:
    """Implements `TokenVerifier` for one issuer."""

    def __init__(self, issuer: Issuer, claims: Claims) -> None:
        self._issuer = issuer
        self._claims = claims

    async def verify(self, token: str) -> Principal | None:
        """The principal of an ID token; None if it is of another issuer.

        Raises:
            Unauthenticated: if the token is refused.
            Unavailable: if the issuer's keys cannot be fetched.
        """
        try:
            parsed = jws.parse_token(token)
        except jws.InvalidToken:
            return None
        if not self._issuer.has_issued(parsed):
            return None
        try:
            try:
                claims = self._issuer.check(parsed)
            except KeysNotFetched:
                await self._issuer.fetch_keys()
                claims = self._issuer.check(parsed)
        except OidcError as error:
            needs_keys = isinstance(error, KeysNotFetched | NotVerified)
            if needs_keys and self._issuer.last_error:
                raise Unavailable(
                    "the token cannot be verified: the issuer does not answer"
                ) from error
            raise Unauthenticated(f"the bearer token is not valid: {error}") from error
        return build_principal(claims, self._claims)


def build_principal(claims: Mapping[str, Any], wanted: Claims) -> Principal:
    """The principal of verified claims.

    Raises:
        Unauthenticated: if the name is absent, one of Kubernetes itself, or an address that is
            not verified.
    """
    name = claims.get(wanted.username)
    if not isinstance(name, str) or not name:
        raise Unauthenticated(f"the bearer token has no claim {wanted.username!r}")
    if name.startswith(SYSTEM_PREFIX):
        raise Unauthenticated(f"user names with the prefix {SYSTEM_PREFIX} are reserved")
    is_verified = claims.get("email_verified", True) is True
    if wanted.username == _EMAIL and not is_verified:
        raise Unauthenticated("the e-mail address of the bearer token is not verified")
    email = claims.get(_EMAIL)
    groups = claims.get(wanted.groups)
    given = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return Principal(
        username=name,
        email=email if isinstance(email, str) and is_verified else "",
        groups=tuple(
            each for each in given if isinstance(each, str) and not each.startswith(SYSTEM_PREFIX)
        ),
    )
