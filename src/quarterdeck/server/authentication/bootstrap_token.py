"""Bootstrap tokens: short-lived ones that Secrets in `kube-system` hold, for machines that join."""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.service_accounts.claims import AUDIENCES
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User
from quarterdeck.storage import Store, StoreKey

SECRET_TYPE = "bootstrap.kubernetes.io/token"
GROUP = "system:bootstrappers"
_NAMESPACE = "kube-system"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_EXTRA_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapTokens:
    """Recognizes tokens that Secrets in `kube-system` hold."""

    def __init__(self, store: Store, *, clock: Clock, audiences: Sequence[str] = AUDIENCES) -> None:
        self._store = store
        self._clock = clock
        self._audiences = frozenset(audiences)

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User | None:
        """Return the user of a bootstrap token; None if the text does not have that format.

        Raises:
            Unauthorized: if no Secret holds it, it has expired, or it is not for authentication.
        """
        match = _TOKEN.fullmatch(token)
        if match is None or (audiences is not None and self._audiences.isdisjoint(audiences)):
            return None
        identifier, secret = match.groups()
        data = self._read_secret(identifier)
        is_equal = hmac.compare_digest(data.get("token-secret", "").encode(), secret.encode())
        if not is_equal or data.get("token-id") != identifier or self._has_expired(data):
            raise CredentialsRefused(
                f"bootstrap token {identifier}: the secret is wrong or the token has expired"
            )
        if data.get("usage-bootstrap-authentication") != "true":
            raise CredentialsRefused(
                f"bootstrap token {identifier}: usage-bootstrap-authentication is not true"
            )
        return User(
            name=f"system:bootstrap:{identifier}",
            groups=(*_parse_groups(data), AUTHENTICATED_GROUP),
        )

    def _read_secret(self, identifier: str) -> dict[str, str]:
        entry = self._store.get(StoreKey("secrets", _NAMESPACE, f"bootstrap-token-{identifier}"))
        if entry is None:
            raise CredentialsRefused(f"bootstrap token {identifier}: Secret not found")
        value: dict[str, Any] = kit_json.decode(entry.value)
        if value.get("type") != SECRET_TYPE or value["metadata"].get("deletionTimestamp"):
            raise CredentialsRefused(
                f"bootstrap token {identifier}: the Secret is being deleted,"
                f" or is not of type {SECRET_TYPE}"
            )
        return {name: _decode(text) for name, text in (value.get("data") or {}).items()}

    def _has_expired(self, data: Mapping[str, str]) -> bool:
        """Whether the token has expired; an expiration that cannot be parsed counts as expired."""
        text = data.get("expiration", "")
        if not text:
            return False
        try:
            return self._clock.now() >= rfc3339.parse(text)
        except ValueError:
            return True


def _parse_groups(data: Mapping[str, str]) -> tuple[str, ...]:
    """The groups of a token; one outside the allowed prefix makes the whole token invalid."""
    extra = [each for each in data.get("auth-extra-groups", "").split(",") if each]
    if not all(_EXTRA_GROUP.fullmatch(each) for each in extra):
        raise CredentialsRefused(
            f"bootstrap token: auth-extra-groups must match {_EXTRA_GROUP.pattern}"
        )
    return (GROUP, *sorted(set(extra)))


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
