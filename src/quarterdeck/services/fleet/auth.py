"""Authorizes callers by tokens with scopes, which are stored and compared as hashes."""

import base64
import binascii
import enum
import hashlib
import hmac
from collections.abc import Mapping

from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.telemetry.fleet.codes import Code


class Scope(enum.StrEnum):
    """What a token allows: to read, to write, or to act as a collector."""

    READ = "read"
    WRITE = "write"
    AGENT = "agent"


class Tokens:
    """The tokens of a server; an empty table refuses every request."""

    def __init__(self, tokens: Mapping[str, frozenset[Scope]]) -> None:
        self._scopes = {_hash(token): scopes for token, scopes in tokens.items()}

    @classmethod
    def single(cls, token: Secret[str]) -> "Tokens":
        """One token for everything."""
        return cls({token.reveal(): frozenset(Scope)})

    def check(self, authorization: str, scope: Scope) -> None:
        """Check that a caller's token has a scope.

        Raises:
            FleetError: `unauthenticated` or `permission_denied`; never repeats the token.
        """
        digests = [_hash(each) for each in _list_tokens(authorization) if each]
        scopes = next(
            (
                found
                for known, found in self._scopes.items()
                if any(hmac.compare_digest(known, digest) for digest in digests)
            ),
            None,
        )
        if scopes is None:
            raise FleetError(
                Code.UNAUTHENTICATED,
                "a valid token is required in the header Authorization (Basic, or Bearer)",
            )
        if scope not in scopes and not (scope is Scope.READ and Scope.WRITE in scopes):
            raise FleetError(
                Code.PERMISSION_DENIED, f"the token lacks the scope fleet-management:{scope.value}"
            )


def _list_tokens(authorization: str) -> tuple[str, ...]:
    """What may be the token in a Basic or Bearer header; a token may contain colons.

    Of a Basic header it is the password, after the first colon. A Bearer header has a token or
    `id:token`.
    """
    kind, _, rest = authorization.partition(" ")
    rest = rest.strip()
    if kind.lower() == "basic":
        try:
            rest = base64.b64decode(rest, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ()
    elif kind.lower() != "bearer":
        return ()
    _, colon, token = rest.partition(":")
    return (rest, token) if colon else (rest,)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
