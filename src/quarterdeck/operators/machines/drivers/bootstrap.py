"""The bootstrap service over HTTPS; it publishes its address in a ConfigMap."""

import ssl
from collections.abc import Callable

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.client import ClientError
from quarterdeck.client.client import Client
from quarterdeck.kit import http, json
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.machines.invitation import (
    MAX_TOKEN_S,
    MIN_TOKEN_S,
    Invitation,
    ServiceMissing,
)
from quarterdeck.wire.status import ApiError

CONFIG_MAP = "quarterdeck-bootstrap"
_TIMEOUT_S = 10.0
_CREATED = 201


class BootstrapClient:
    """Implements `Inviter`; `read_token` returns the operator's own bearer token."""

    def __init__(self, client: Client, namespace: str, *, read_token: Callable[[], str]) -> None:
        self._client = client
        self._namespace = namespace
        self._read_token = read_token

    async def invite(
        self, claim: MachineClaim, *, needs_token: bool, lifetime_s: float
    ) -> Invitation:
        """Build an invitation; a new token revokes an earlier one of the claim.

        Raises:
            ServiceMissing: if there is no service, or it fails.
        """
        try:
            found = await self._client.get(ConfigMap, CONFIG_MAP, self._namespace)
            bundle, url = found.data["ca.crt"], found.data["url"]
        except (ApiError, ClientError, KeyError) as error:
            raise ServiceMissing(
                f"ConfigMap {self._namespace}/{CONFIG_MAP} cannot be read ({error}); start"
                " quarterdeck bootstrap"
            ) from error
        machine_url = found.data.get("machineURL", url)
        if not needs_token:
            return Invitation(machine_url, bundle)
        token = await self._issue(claim, url, bundle, lifetime_s=lifetime_s)
        return Invitation(machine_url, bundle, token)

    async def _issue(
        self, claim: MachineClaim, url: str, bundle: str, *, lifetime_s: float
    ) -> Secret[str]:
        meta = claim.metadata
        body = {
            "claim": {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
            "ttlSeconds": int(min(max(lifetime_s, MIN_TOKEN_S), MAX_TOKEN_S)),
            "rotate": True,
        }
        headers = [("Authorization", f"Bearer {self._read_token()}")]
        tls = ssl.create_default_context(cadata=bundle)
        client = http.Client(tls=tls)
        try:
            answer = await client.request(
                "POST",
                f"{url}/v1/join-tokens",
                headers=headers,
                body=json.encode(body),
                timeout_s=_TIMEOUT_S,
            )
            async with answer:
                text = await answer.read(65536)
        except http.HttpError as error:
            raise ServiceMissing(f"the bootstrap service at {url} does not answer") from error
        finally:
            await client.aclose()
        if answer.status != _CREATED:
            raise ServiceMissing(f"the bootstrap service at {url} answers {answer.status}")
        return Secret(json.decode(text)["token"])
