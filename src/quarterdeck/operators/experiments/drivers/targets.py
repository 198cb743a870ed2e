"""Target clusters, reached by their kubeconfigs over HTTP."""

import base64
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from quarterdeck.client import Client, ClusterConfig
from quarterdeck.client.config.cluster import PemSource
from quarterdeck.client.errors import ClientError, UntrustedServer
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret, redact
from quarterdeck.meta.identity import GVK
from quarterdeck.operators.experiments import kubeconfig
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.naming import OPERATOR
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions, PatchOptions
from quarterdeck.wire.status import ApiError, Forbidden, NotFound, Unauthorized

_TIMEOUT_S = 10.0
_NAMESPACES = ResourcePath("", "v1", "namespaces")
_OPTIONS = PatchOptions(field_manager=OPERATOR, force=True)


class KubeconfigTargets:
    """Opens a connection for each call: targets come and go, and their kubeconfigs with them."""

    def __init__(self, hub: Client, *, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock

    async def probe(self, text: bytes) -> str:
        """Check the credentials by listing namespaces (403 is enough); returns the version."""
        async with self._open(text) as client:
            with contextlib.suppress(Forbidden):
                await client.raw.list(_NAMESPACES, ListOptions(limit=1))
            return str((await client.get_server_version()).get("gitVersion", ""))

    async def apply(self, text: bytes, documents: Sequence[Mapping[str, Any]]) -> None:
        """Apply objects one after the other, by server-side apply."""
        async with self._open(text) as client:
            for document in documents:
                found = await client.raw.discover_resource(
                    GVK.of(document["apiVersion"], document["kind"])
                )
                metadata = document["metadata"]
                namespace = metadata.get("namespace", "") if found.namespaced else ""
                path = ResourcePath(*found.gvr, namespace, metadata["name"])
                await client.raw.patch(path, json.encode(document), PatchType.APPLY, _OPTIONS)

    async def find_service(
        self, text: bytes | None, namespace: str, name: str
    ) -> Mapping[str, Any] | None:
        """Find a Service on a target; on the hub if there is no kubeconfig."""
        path = ResourcePath("", "v1", "services", namespace, name)
        try:
            if text is None:
                return _decode(await self._hub.raw.get(path))
            async with self._open(text) as client:
                return _decode(await client.raw.get(path))
        except NotFound:
            return None

    @contextlib.asynccontextmanager
    async def _open(self, text: bytes) -> AsyncIterator[Client]:
        """Open a client; its errors become `TargetRefused` or `TargetUnreachable`."""
        try:
            config = to_config(kubeconfig.parse(text))
        except kubeconfig.KubeconfigError as error:
            raise TargetRefused(str(error)) from error
        try:
            async with Client(config, clock=self._clock) as client:
                yield client
        except Unauthorized as error:
            raise TargetRefused(f"{config.server}: {redact(error.message)}") from error
        except UntrustedServer as error:
            raise TargetRefused(f"{config.server}: {redact(str(error))}") from error
        except NotFound:
            raise
        except (ApiError, ClientError, OSError, json.JsonError) as error:
            raise TargetUnreachable(f"{config.server}: {redact(str(error))}") from error
        except ValueError:  # its message may have the credentials
            problem = "the address or the credentials of the kubeconfig cannot be part of a request"
            raise TargetRefused(f"{redact(config.server)}: {problem}") from None


def to_config(connection: Connection) -> ClusterConfig:
    """Build the client's configuration for a cluster."""
    return ClusterConfig(
        server=connection.server,
        certificate_authority=_decode_material(connection.ca_data),
        client_certificate=_decode_material(connection.cert_data),
        client_key=_decode_material(connection.key_data),
        insecure_skip_tls_verify=connection.insecure,
        tls_server_name=connection.server_name,
        token=Secret(connection.token) if connection.token else None,
        username=connection.username,
        password=Secret(connection.password) if connection.password else None,
        user_agent=OPERATOR,
        timeout_s=_TIMEOUT_S,
    )


def _decode_material(data: str) -> PemSource:
    return PemSource(data=Secret(base64.b64decode(data))) if data else PemSource()


def _decode(body: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.decode(body)
    return document
