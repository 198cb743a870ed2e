"""Rights on new GKE clusters, whose own client certificate has none.

The certificate that GKE issues belongs to the user `client`, who may do nothing. A service account
of the project may: its key is in a Secret of the hub, is exchanged for a token at Google, and that
token binds `client` to cluster-admin. Without that Secret nothing is done, as a composition may
grant the rights.
"""

from typing import Any, Final

import msgspec

from quarterdeck.apis.core.config import Secret
from quarterdeck.client import Client
from quarterdeck.kit import http, json, jwk, jws
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import kubeconfig
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.kubeconfig import KubeconfigError
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.wire.status import NotFound

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
TOKEN_URL: Final = "https://oauth2.googleapis.com/token"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_LIFETIME_S = 3600
_MARGIN_S = 60.0
_TIMEOUT_S = 10.0
_TOO_MANY, _SERVER_FAILED = 429, 500
_KEYS = ("credentials", "creds", "key.json")
BINDING: Final[dict[str, Any]] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "experiment-client-admin"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "cluster-admin",
    },
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "client"}],
}


class ServiceAccountKey(msgspec.Struct, frozen=True):
    """A key of a service account, as Google issues it."""

    client_email: str
    private_key: str
    private_key_id: str = ""
    token_uri: str = TOKEN_URL

    def __repr__(self) -> str:
        return f"ServiceAccountKey(client_email={self.client_email!r})"


class _Answer(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = _LIFETIME_S

    def __repr__(self) -> str:
        return f"_Answer(expires_in={self.expires_in})"


class GcpAdministrator:
    """Grants rights on new clusters with a service account's token."""

    def __init__(
        self,
        hub: Client,
        targets: KubeconfigTargets,
        *,
        secret: Key,
        web: http.Client,
        clock: Clock,
    ) -> None:
        self._hub = hub
        self._targets = targets
        self._secret = secret
        self._web = web
        self._clock = clock
        self._token = ""
        self._expires_at = 0.0

    async def grant(self, text: bytes) -> bool:
        """Make the kubeconfig's user a cluster admin; False if there is no service account key.

        Raises:
            TargetRefused, TargetUnreachable: if a request to Google or the cluster fails.
        """
        key = await self._find_key()
        if key is None:
            return False
        token = await self._get_token(key)
        connection = kubeconfig.parse(text)._replace(cert_data="", key_data="", token=token)
        await self._targets.apply(kubeconfig.build(connection), [BINDING])
        return True

    async def _find_key(self) -> ServiceAccountKey | None:
        try:
            found = await self._hub.get(Secret, self._secret.name, self._secret.namespace)
        except NotFound:
            return None
        for name in _KEYS:
            try:
                text = kubeconfig.read_secret(found.data, key=name)
                return msgspec.json.decode(text, type=ServiceAccountKey)
            except KubeconfigError:
                continue
            except json.UNREADABLE:
                break
        raise TargetRefused(
            f"Secret {self._secret} holds no key of a service account in {', '.join(_KEYS)}"
        )

    async def _get_token(self, key: ServiceAccountKey) -> str:
        if self._token and self._clock.monotonic() < self._expires_at:
            return self._token
        body = f"grant_type={_GRANT}&assertion={self._build_assertion(key)}".encode()
        headers = [("Content-Type", "application/x-www-form-urlencoded")]
        try:
            response = await self._web.request(
                "POST", key.token_uri, headers=headers, body=body, timeout_s=_TIMEOUT_S
            )
            answer = await response.read()
        except (http.HttpError, OSError, TimeoutError) as error:
            raise TargetUnreachable(f"{key.token_uri}: {error}") from error
        except ValueError:  # its message may have parts of the key
            text = f"Secret {self._secret}: no request can be made to its token_uri"
            raise TargetRefused(text) from None
        if response.status == _TOO_MANY or response.status >= _SERVER_FAILED:
            raise TargetUnreachable(f"{key.token_uri} answered {response.status}")
        if response.status != 200:
            raise TargetRefused(f"{key.token_uri} answered {response.status}")
        try:
            found = msgspec.json.decode(answer, type=_Answer, strict=False)
        except json.UNREADABLE:
            raise TargetUnreachable(f"the answer of {key.token_uri} has no token") from None
        self._token = found.access_token
        self._expires_at = self._clock.monotonic() + found.expires_in - _MARGIN_S
        return self._token

    def _build_assertion(self, key: ServiceAccountKey) -> str:
        now = int(self._clock.now().timestamp())
        claims = {
            "iss": key.client_email,
            "scope": SCOPE,
            "aud": key.token_uri,
            "iat": now,
            "exp": now + _LIFETIME_S,
        }
        try:
            private = jwk.parse_private_key(key.private_key.encode())
        except jwk.InvalidKey as error:
            raise TargetRefused(f"Secret {self._secret}: the private key is not usable") from error
        return jws.sign(claims, private, key_id=key.private_key_id)
