"""Adds tokens to Secrets of service accounts, and deletes the Secrets with the account."""

import base64
from collections.abc import Iterator, Sequence

from quarterdeck.server.authentication.service_accounts.legacy import (
    ACCOUNT_ANNOTATION,
    ACCOUNT_UID_ANNOTATION,
    SECRET_TYPE,
    LegacyClaims,
)
from quarterdeck.server.authentication.service_accounts.signing_key import SigningKey
from quarterdeck.server.lifecycle.controllers.namespace_contents import ACCOUNTS
from quarterdeck.server.lifecycle.engine.actions import Action, Delete
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    get_annotations,
    get_name,
    get_namespace,
    get_uid,
    is_deleting,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

SECRETS = "secrets"
_MARK = SECRET_TYPE.encode()


class AccountTokens:
    """Adds tokens to Secrets of type `kubernetes.io/service-account-token`."""

    name = "legacy-serviceaccount-token-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({SECRETS, ACCOUNTS})
    initial: Sequence[StoreKey] = ()

    def __init__(self, key: SigningKey, authority: str) -> None:
        self._key = key
        self._authority = authority

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find Secrets of that type, and accounts that were created or deleted."""
        key = event.key
        if key.resource == ACCOUNTS:
            if (event.before is None) != (event.after is None):
                yield key
        elif event.after is not None and _MARK in event.after.value:
            yield key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Fill in or delete one Secret, or all Secrets of one account."""
        if key.resource == SECRETS:
            secret = view.get(key)
            return [] if secret is None else self._plan_secret(view, secret)
        return [
            action
            for secret in view.list(SECRETS, key.namespace)
            if get_annotations(secret).get(ACCOUNT_ANNOTATION) == key.name
            for action in self._plan_secret(view, secret)
        ]

    def _plan_secret(self, view: View, secret: Object) -> list[Action]:
        if secret.get("type") != SECRET_TYPE or is_deleting(secret):
            return []
        namespace, annotations = get_namespace(secret), get_annotations(secret)
        name = annotations.get(ACCOUNT_ANNOTATION, "")
        account = view.get(StoreKey(ACCOUNTS, namespace, name))
        known_uid = annotations.get(ACCOUNT_UID_ANNOTATION)
        if account is None or (known_uid and known_uid != get_uid(account)):
            return [Delete(key=StoreKey(SECRETS, namespace, get_name(secret)), uid=get_uid(secret))]
        data = secret.get("data") or {}
        if known_uid and data.get("token") and data.get("namespace") and "ca.crt" in data:
            return []
        claims = LegacyClaims(
            namespace=namespace,
            secret=get_name(secret),
            account=name,
            account_uid=get_uid(account),
        )
        filled = {
            "ca.crt": _encode(self._authority),
            "namespace": _encode(namespace),
            "token": data.get("token") or _encode(self._key.sign(claims.to_json())),
        }
        metadata = {
            **secret["metadata"],
            "annotations": {**annotations, ACCOUNT_UID_ANNOTATION: get_uid(account)},
        }
        return [update(SECRETS, secret, metadata=metadata, data={**data, **filled})]


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
