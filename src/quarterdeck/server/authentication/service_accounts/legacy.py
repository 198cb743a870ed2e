"""Tokens of service accounts that are stored in Secrets, as Kubernetes created them before 1.24.

They do not expire: a token is valid as long as its Secret and its account exist. Pure.
"""

import base64
import hmac
from typing import Any

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.server.authentication.service_accounts.claims import SUBJECT

ISSUER = "kubernetes/serviceaccount"
SECRET_TYPE = "kubernetes.io/service-account-token"
ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
ACCOUNT_UID_ANNOTATION = "kubernetes.io/service-account.uid"
_NAMESPACE, _SECRET, _ACCOUNT, _UID = (
    f"{ISSUER}/{name}"
    for name in ("namespace", "secret.name", "service-account.name", "service-account.uid")
)


class LegacyClaims(msgspec.Struct, frozen=True, kw_only=True):
    """The claims of a token that is stored in a Secret."""

    namespace: str
    secret: str
    account: str
    account_uid: str

    def to_json(self) -> dict[str, Any]:
        """Return the claims in their JSON form, which is signed."""
        return {
            "iss": ISSUER,
            _NAMESPACE: self.namespace,
            _SECRET: self.secret,
            _ACCOUNT: self.account,
            _UID: self.account_uid,
            "sub": f"{SUBJECT}{self.namespace}:{self.account}",
        }

    def is_held_by(self, secret: bytes, token: str) -> bool:
        """Whether a stored Secret has the token, and is not being deleted."""
        value = kit_json.decode(secret)
        if value["metadata"].get("deletionTimestamp") or value.get("type") != SECRET_TYPE:
            return False
        held = str((value.get("data") or {}).get("token") or "")
        return hmac.compare_digest(held.encode(), base64.b64encode(token.encode()))


def parse_legacy_claims(claims: dict[str, Any]) -> LegacyClaims | None:
    """Parse the claims of a verified token; None if it is not the token of a Secret."""
    if claims.get("iss") != ISSUER:
        return None
    names = [claims.get(each) for each in (_NAMESPACE, _SECRET, _ACCOUNT, _UID)]
    if not all(isinstance(each, str) and each for each in names):
        return None
    namespace, secret, account, uid = (str(each) for each in names)
    return LegacyClaims(namespace=namespace, secret=secret, account=account, account_uid=uid)
