"""One certificate for all replicas behind a Service, kept in a Secret.

An API server may call any replica and trusts one CA bundle, so all replicas serve the same
certificate. The first replica creates it and the others read it. Each replica reads the Secret
periodically and renews a certificate that is due. Writes carry the resourceVersion that was read,
so that only one of several replicas succeeds.
"""

import ssl
from collections.abc import Sequence
from typing import Any

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Api
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.pem import load_identity
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.endpoints.certificate import POLL_S, CertificateError, build_context
from quarterdeck.runtime.endpoints.rotation import (
    Rotation,
    decode_rotation,
    encode_rotation,
    plan_rotation,
)
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import AlreadyExists, ApiError, Conflict, NotFound

_ATTEMPTS = 5
_KIND, _TYPE = "Secret", "kubernetes.io/tls"


class SharedCertificate:
    """The certificate of one replica; `context` is the same object after each renewal."""

    def __init__(
        self, api: Api, secret: Key, *, clock: Clock, log: Logger, hosts: Sequence[str]
    ) -> None:
        self._api = api
        self._secret = secret
        self._clock = clock
        self._log = log
        self._hosts = tuple(hosts)
        self._held: Rotation | None = None
        self.context: ssl.SSLContext = build_context()

    @property
    def ca_bundle(self) -> bytes:
        """The certificates that clients must trust, in PEM; empty before the first `refresh`."""
        return self._held.authority if self._held is not None else b""

    async def run(self) -> None:
        """Refresh the certificate periodically, until cancelled."""
        while True:
            await self._clock.sleep(POLL_S)
            try:
                if await self.refresh():
                    self._log.info("serving a new certificate", secret=str(self._secret))
            except CertificateError as problem:
                self._log.warning(
                    "cannot renew the shared certificate; serving the old one", reason=str(problem)
                )

    async def refresh(self) -> bool:
        """Load the certificate from the Secret, and renew it if it is due; True if it changed.

        Raises:
            CertificateError: if the Secret cannot be used; the served certificate stays in use.
        """
        try:
            found = await self._synchronize()
        except (ApiError, ClientError) as error:
            raise CertificateError(
                f"cannot share the webhook certificate by Secret {self._secret}: {error}; "
                "the operator's role must allow get, create and update of it"
            ) from error
        before, self._held = self._held, found
        if before is not None and before.current == found.current:
            return False
        load_identity(self.context, *found.current)
        return True

    async def _synchronize(self) -> Rotation:
        for _ in range(_ATTEMPTS):
            stored, version = await self._read()
            known = stored or self._held  # after a deletion, the one that clients trust
            planned = plan_rotation(known, now=self._clock.now(), hosts=self._hosts)
            wanted = planned or known
            assert wanted is not None
            if wanted == stored:
                return wanted
            try:
                await self._write(wanted, version)
            except (AlreadyExists, Conflict):
                continue  # another replica was faster
            return wanted
        raise Conflict(f"Secret {self._secret} changed {_ATTEMPTS} times in a row")

    async def _read(self) -> tuple[Rotation | None, str]:
        try:
            document = _decode(await self._api.get(self._build_path(self._secret.name)))
        except NotFound:
            return None, ""
        if document.get("kind") != _KIND:
            raise CertificateError(
                f"cannot read Secret {self._secret}: the answer is not a Secret; look for a proxy "
                "in front of the API server that answers in its place"
            )
        try:
            rotation = decode_rotation(document.get("data") or {})
        except ValueError as error:
            raise CertificateError(
                f"Secret {self._secret} has no valid webhook certificate: {error}; "
                "delete the Secret to create a new one"
            ) from error
        return rotation, str(document["metadata"]["resourceVersion"])

    async def _write(self, rotation: Rotation, version: str) -> None:
        metadata = {"name": self._secret.name, "namespace": self._secret.namespace}
        body = {
            "apiVersion": "v1",
            "kind": _KIND,
            "metadata": metadata | ({"resourceVersion": version} if version else {}),
            "type": _TYPE,
            "data": encode_rotation(rotation),
        }
        if version:
            await self._api.update(self._build_path(self._secret.name), json.encode(body))
        else:
            await self._api.create(self._build_path(), json.encode(body))

    def _build_path(self, name: str = "") -> ResourcePath:
        return ResourcePath("", "v1", "secrets", self._secret.namespace, name)


def _decode(answer: bytes) -> dict[str, Any]:
    """The object in an answer; empty if it is anything else, as a page of a proxy is."""
    try:
        found = json.decode(answer)
    except json.JsonError:
        return {}
    return found if isinstance(found, dict) else {}
