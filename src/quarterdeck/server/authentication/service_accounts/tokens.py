"""Authenticates tokens of service accounts.

A valid signature is not enough: the account, and the object that the token is bound to, must still
exist with the same uid. So deleting either of them invalidates the tokens at once.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from random import Random

from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.field import quote
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.service_accounts.claims import (
    ISSUER,
    SUBJECT,
    Bound,
    Claims,
    parse_claims,
)
from quarterdeck.server.authentication.service_accounts.legacy import (
    LegacyClaims,
    parse_legacy_claims,
)
from quarterdeck.server.authentication.service_accounts.signing_key import InvalidToken, SigningKey
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User, list_account_groups
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.storage import Store, StoreKey

_RESOURCE = "serviceaccounts"
_EXTRA = "authentication.kubernetes.io/"
_RESOURCES = {"pod": "pods", "secret": "secrets", "node": "nodes"}
_CLOCK_LEEWAY_S = 60
"""The clock skew between two servers that Kubernetes allows."""
_DELETION_LEEWAY = timedelta(seconds=60)
"""How long a token stays valid after the deletion time of the object it is bound to."""


class WrongAudience(CredentialsRefused):
    """Raised when a valid token is for other audiences; clients get a plain 401."""

    def __init__(self, found: Sequence[str], wanted: Sequence[str]) -> None:
        shown = ("[" + " ".join(map(quote, each)) + "]" for each in (found, wanted))
        super().__init__("token audiences {} is invalid for the target audiences {}".format(*shown))


class AccountNotFound(CredentialsRefused):
    """Raised when the account of a valid token does not exist; clients get a plain 401."""

    def __init__(self, name: str) -> None:
        super().__init__(f"serviceaccounts {quote(name)} not found")


class ServiceAccountTokens:
    """Issues and recognizes the tokens of service accounts."""

    def __init__(
        self,
        store: Store,
        key: SigningKey,
        *,
        clock: Clock,
        rng: Random,
        issuer: str = ISSUER,
        audiences: Sequence[str] = (),
    ) -> None:
        self._store = store
        self._clock = clock
        self._random = rng
        self.key = key
        self.issuer = issuer
        self.audiences = tuple(audiences) or (issuer,)
        """The audiences of this API; tokens are for them unless a request names others."""

    def issue(
        self,
        account: StoreKey,
        *,
        uid: str,
        audiences: Sequence[str],
        seconds: int,
        bound: Bound | None,
    ) -> str:
        """Issue a token for an existing account."""
        now = int(self._clock.now().timestamp())
        claims = Claims(
            namespace=account.namespace,
            account=account.name,
            account_uid=uid,
            audiences=tuple(audiences),
            issued=now,
            expires=now + seconds,
            identifier=generate_uid(self._random),
            bound=bound,
            issuer=self.issuer,
        )
        return self.key.sign(claims.to_json())

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User | None:
        """Return the user of a service account token; None if this server did not issue the token.

        Raises:
            Unauthorized: if the token has expired, was revoked, or is for other audiences.
        """
        if token.count(".") != 2:
            return None
        try:
            verified = self.key.verify(token)
        except InvalidToken:
            return None
        wanted = self.audiences if audiences is None else audiences
        if (legacy := parse_legacy_claims(verified)) is not None:
            return self._authenticate_legacy(legacy, token, wanted)
        claims = parse_claims(verified, self.issuer)
        if claims is None:
            return None
        now = self._clock.now().timestamp()
        if not claims.issued - _CLOCK_LEEWAY_S <= now <= claims.expires + _CLOCK_LEEWAY_S:
            raise CredentialsRefused(f"the token of {_describe(claims)} has expired")
        self._check_alive(claims)
        if set(wanted).isdisjoint(claims.audiences):
            raise WrongAudience(claims.audiences, wanted)
        return _build_user(claims)

    def _authenticate_legacy(
        self, claims: LegacyClaims, token: str, audiences: Sequence[str]
    ) -> User:
        """Return the user of a token that is stored in a Secret, if the Secret still has it."""
        account = StoreKey(_RESOURCE, claims.namespace, claims.account)
        secret = self._store.get(StoreKey("secrets", claims.namespace, claims.secret))
        if not self._is_there(account, claims.account_uid):
            raise AccountNotFound(claims.account)
        if secret is None or not claims.is_held_by(secret.value, token):
            where = f"{claims.namespace}/{claims.secret}"
            raise CredentialsRefused(f"Secret {where} does not exist or has another token")
        if set(audiences).isdisjoint(self.audiences):
            raise WrongAudience(self.audiences, audiences)
        return build_account_user(claims.namespace, claims.account, uid=claims.account_uid)

    def _check_alive(self, claims: Claims) -> None:
        account = StoreKey(_RESOURCE, claims.namespace, claims.account)
        if self._store.get(account) is None:
            raise AccountNotFound(claims.account)
        if not self._is_there(account, claims.account_uid):
            text = (
                f"{_describe(claims)} was deleted after the token was issued, or is being deleted"
            )
            raise CredentialsRefused(text)
        if claims.bound is None:
            return
        namespace = "" if claims.bound.kind == "node" else claims.namespace
        key = StoreKey(_RESOURCES[claims.bound.kind], namespace, claims.bound.name)
        if not self._is_there(key, claims.bound.uid):
            bound = f"{claims.bound.kind} {claims.bound.name}"
            text = f"the token of {_describe(claims)} is bound to {bound}, which does not exist"
            raise CredentialsRefused(text)

    def _is_there(self, key: StoreKey, uid: str) -> bool:
        entry = self._store.get(key)
        if entry is None or (object_meta := get_object_meta(entry)).uid != uid:
            return False
        ends = object_meta.deletion_timestamp
        return not ends or self._clock.now() < rfc3339.parse(ends) + _DELETION_LEEWAY


def _build_user(claims: Claims) -> User:
    extra = {f"{_EXTRA}credential-id": (f"JTI={claims.identifier}",)}
    if (bound := claims.bound) is not None and bound.kind != "secret":
        extra[f"{_EXTRA}{bound.kind}-name"] = (bound.name,)
        extra[f"{_EXTRA}{bound.kind}-uid"] = (bound.uid,)
    return build_account_user(claims.namespace, claims.account, uid=claims.account_uid, extra=extra)


def build_account_user(
    namespace: str,
    name: str,
    *,
    uid: str = "",
    extra: Mapping[str, tuple[str, ...]] | None = None,
) -> User:
    """Build the user of a service account."""
    return User(
        name=f"{SUBJECT}{namespace}:{name}",
        uid=uid,
        groups=(*list_account_groups(namespace), AUTHENTICATED_GROUP),
        extra=extra or {},
    )


def _describe(claims: Claims) -> str:
    return f"service account {claims.namespace}/{claims.account}"
