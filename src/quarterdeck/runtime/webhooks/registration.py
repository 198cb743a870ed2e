"""Registration of webhooks with an API server, and of the certificate authority it must trust.

The configurations are applied by the operator itself, and again whenever the certificate authority
changes, so that a certificate made here can be renewed while API servers call.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions

_GROUP = "admissionregistration.k8s.io"
_INJECT = "cert-manager.io/inject-ca-from"


class ServiceReference(NamedTuple):
    """The Service in front of the webhooks, for API servers inside a cluster."""

    namespace: str
    name: str
    port: int = 443


class Registration(NamedTuple):
    """How webhooks are made known to an API server.

    Without `service` they are registered by URL, which an API server on the same host can reach.
    """

    name: str
    """The name of the configurations, and the suffix of webhook names: a domain such as
    `shop.example.com` gives `validate-v1-shop.shop.example.com`."""
    service: ServiceReference | None = None
    ca_file: Path | None = None
    """The authority of the certificate, where files were given; default: `ca.crt` beside them."""
    cert_manager: str = ""
    """`namespace/name` of a cert-manager Certificate, which then fills in the authority."""
    secret: Key | None = None
    """The Secret by which replicas behind `service` share a certificate that is made here. Without
    one every replica makes its own, and an API server trusts the one that registered last."""
    failure_policy: str = "Fail"
    timeout_s: int = 10
    namespace_selector: Mapping[str, Any] = {}


class RegisteredHook(NamedTuple):
    """One admission webhook, as it is registered."""

    path: str
    kind: KindInfo
    operations: tuple[str, ...]
    is_mutating: bool


class RegisteredConversion(NamedTuple):
    """The conversion of one kind, as its definition names it."""

    path: str
    kind: KindInfo


def build_configurations(
    registration: Registration, hooks: Sequence[RegisteredHook], *, url: str, ca_bundle: bytes
) -> Iterator[dict[str, Any]]:
    """The configurations of admission webhooks, mutating ones first."""
    for is_mutating, kind in (
        (True, "MutatingWebhookConfiguration"),
        (False, "ValidatingWebhookConfiguration"),
    ):
        chosen = [hook for hook in hooks if hook.is_mutating is is_mutating]
        if not chosen:
            continue
        metadata: dict[str, Any] = {"name": registration.name}
        if registration.cert_manager:
            metadata["annotations"] = {_INJECT: registration.cert_manager}
        yield {
            "apiVersion": f"{_GROUP}/v1",
            "kind": kind,
            "metadata": metadata,
            "webhooks": [
                _build_webhook(registration, hook, url=url, ca_bundle=ca_bundle) for hook in chosen
            ],
        }


def build_conversion(
    registration: Registration, conversion: RegisteredConversion, *, url: str, ca_bundle: bytes
) -> dict[str, Any]:
    """A patch of the definition that has its objects converted by a webhook."""
    webhook = {
        "conversionReviewVersions": ["v1"],
        "clientConfig": build_client(registration, conversion.path, url=url, ca_bundle=ca_bundle),
    }
    patch: dict[str, Any] = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    if registration.cert_manager:
        patch["metadata"] = {"annotations": {_INJECT: registration.cert_manager}}
    return patch


def build_client(
    registration: Registration, path: str, *, url: str, ca_bundle: bytes
) -> dict[str, Any]:
    """How an API server reaches a webhook."""
    client: dict[str, Any] = {}
    if registration.service is None:
        client["url"] = f"{url}{path}"
    else:
        service = registration.service
        client["service"] = {**service._asdict(), "path": path}
    if ca_bundle and not registration.cert_manager:
        client["caBundle"] = base64.b64encode(ca_bundle).decode()
    return client


def _build_webhook(
    registration: Registration, hook: RegisteredHook, *, url: str, ca_bundle: bytes
) -> dict[str, Any]:
    kind = hook.kind
    rule = {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": list(hook.operations),
        "resources": [kind.plural],
        "scope": kind.scope.value,
    }
    webhook: dict[str, Any] = {
        "name": f"{hook.path.strip('/').replace('--', '-').replace('/', '-')}.{registration.name}",
        "clientConfig": build_client(registration, hook.path, url=url, ca_bundle=ca_bundle),
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "failurePolicy": registration.failure_policy,
        "timeoutSeconds": registration.timeout_s,
    }
    if registration.namespace_selector:
        webhook["namespaceSelector"] = dict(registration.namespace_selector)
    return webhook


class Registrar:
    """Applies configurations, as one field manager."""

    def __init__(self, api: Api, registration: Registration, manager: str) -> None:
        self._api = api
        self._registration = registration
        self._options = PatchOptions(field_manager=manager, force=True)

    async def register(
        self,
        hooks: Sequence[RegisteredHook],
        conversions: Sequence[RegisteredConversion],
        *,
        url: str,
        ca_bundle: bytes,
    ) -> None:
        """Apply the configurations, and the conversion of every definition.

        Raises:
            ApiError: if the API server refuses, or a definition is not there yet.
        """
        registration = self._registration
        for document in build_configurations(registration, hooks, url=url, ca_bundle=ca_bundle):
            plural = f"{document['kind'].lower()}s"
            path = ResourcePath(_GROUP, "v1", plural, name=registration.name)
            await self._api.patch(path, json.encode(document), PatchType.APPLY, self._options)
        for conversion in conversions:
            kind = conversion.kind
            name = f"{kind.plural}.{kind.group}"
            path = ResourcePath(
                "apiextensions.k8s.io", "v1", "customresourcedefinitions", name=name
            )
            patch = build_conversion(registration, conversion, url=url, ca_bundle=ca_bundle)
            options = PatchOptions(field_manager=self._options.field_manager)
            await self._api.patch(path, json.encode(patch), PatchType.MERGE, options)
