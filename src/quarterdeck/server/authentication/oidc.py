"""ID tokens of an OpenID Connect issuer: which claims become the user's name and groups."""

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quarterdeck.kit import jws
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.oidc import Expectation, Issuer, KeysNotFetched, OidcError
from quarterdeck.server.authentication.authenticator import NotReady
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User
from quarterdeck.server.options import OidcOptions

_EMAIL = "email"
_NO_PREFIX = "-"


class OidcTokens:
    """Recognizes the ID tokens of one issuer."""

    def __init__(self, options: OidcOptions, *, clock: Clock) -> None:
        self._options = options
        self.issuer = Issuer(
            Expectation(
                issuer=options.issuer_url,
                audiences=(options.client_id,),
                algorithms=options.algorithms,
                required_claims=options.required_claims,
            ),
            clock=clock,
            tls=_build_tls(options.ca_file),
        )

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User | None:
        """Return the user of an ID token; None if the token is from another issuer.

        Raises:
            NotReady: if the keys of the issuer must be fetched first.
            Unauthorized: if the token is refused.
        """
        try:
            parsed = jws.parse_token(token)
        except jws.InvalidToken:
            return None
        if not self.issuer.has_issued(parsed):
            return None
        try:
            claims = self.issuer.check(parsed)
        except KeysNotFetched as error:
            raise NotReady(self.issuer.fetch_keys) from error
        except OidcError as error:
            raise CredentialsRefused(f"token of {self._options.issuer_url}: {error}") from error
        if audiences is not None and self._options.client_id not in audiences:
            raise CredentialsRefused(f"token of {self._options.issuer_url}: wrong audience")
        return build_user(claims, self._options)


def build_user(claims: Mapping[str, Any], options: OidcOptions) -> User:
    """Build the user that verified claims describe.

    Raises:
        Unauthorized: if the username claim is missing, or is an email that is not verified.
    """
    name = claims.get(options.username_claim)
    if not isinstance(name, str) or not name:
        raise CredentialsRefused(
            f"token of {options.issuer_url}: no claim {options.username_claim}"
        )
    if options.username_claim == _EMAIL and claims.get("email_verified", True) is not True:
        raise CredentialsRefused(f"token of {options.issuer_url}: email_verified is not true")
    groups = tuple(f"{options.groups_prefix}{each}" for each in _list_groups(claims, options))
    return User(name=_build_prefix(options) + name, groups=(*groups, AUTHENTICATED_GROUP))


def _build_prefix(options: OidcOptions) -> str:
    if options.username_prefix == _NO_PREFIX:
        return ""
    if not options.username_prefix and options.username_claim != _EMAIL:
        return f"{options.issuer_url}#"
    return options.username_prefix


def _list_groups(claims: Mapping[str, Any], options: OidcOptions) -> list[str]:
    found = claims.get(options.groups_claim) if options.groups_claim else None
    if found is None:
        return []
    if isinstance(found, str):
        return [found]
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise CredentialsRefused(
            f"token of {options.issuer_url}: {options.groups_claim} must be a list of strings"
        )
    return found


def _build_tls(ca_file: Path | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(ca_file) if ca_file is not None else None)
