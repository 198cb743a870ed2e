"""The claims of a service account token, with the private claims of Kubernetes. Pure."""

from typing import Any

import msgspec

ISSUER = "https://kubernetes.default.svc"
"""The issuer of tokens, unless options name another."""
AUDIENCES = (ISSUER,)
"""The default audiences of a token: this API."""
SUBJECT = "system:serviceaccount:"
_PRIVATE = "kubernetes.io"
_BOUND = ("pod", "secret", "node")


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """The object that a token is bound to: the token is valid only while it exists."""

    kind: str
    """`pod`, `secret` or `node`."""
    name: str
    uid: str


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one token; times are seconds since 1970."""

    namespace: str
    account: str
    account_uid: str
    audiences: tuple[str, ...]
    issued: int
    expires: int
    identifier: str
    bound: Bound | None = None
    issuer: str = ISSUER

    @property
    def subject(self) -> str:
        """The user name of the account."""
        return f"{SUBJECT}{self.namespace}:{self.account}"

    def to_json(self) -> dict[str, Any]:
        """As they are signed."""
        private: dict[str, Any] = {
            "namespace": self.namespace,
            "serviceaccount": {"name": self.account, "uid": self.account_uid},
        }
        if self.bound is not None:
            private[self.bound.kind] = {"name": self.bound.name, "uid": self.bound.uid}
        return {
            "aud": list(self.audiences),
            "exp": self.expires,
            "iat": self.issued,
            "iss": self.issuer,
            "jti": self.identifier,
            _PRIVATE: private,
            "nbf": self.issued,
            "sub": self.subject,
        }


def parse_claims(claims: dict[str, Any], issuer: str = ISSUER) -> Claims | None:
    """Parse the claims of a verified token; None if they are not of a service account."""
    try:
        private = claims[_PRIVATE]
        account = private["serviceaccount"]
        found = Claims(
            namespace=private["namespace"],
            account=account["name"],
            account_uid=account["uid"],
            audiences=tuple(claims["aud"]),
            issued=claims["nbf"],
            expires=claims["exp"],
            identifier=claims["jti"],
            bound=_parse_bound(private),
            issuer=issuer,
        )
    except (KeyError, TypeError):
        return None
    is_ours = claims.get("iss") == issuer and claims.get("sub") == found.subject
    return found if is_ours else None


def _parse_bound(private: dict[str, Any]) -> Bound | None:
    for kind in _BOUND:
        if kind in private:
            return Bound(kind=kind, name=private[kind]["name"], uid=private[kind]["uid"])
    return None
