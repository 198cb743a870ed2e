"""Connects to a managed cluster, with the credentials in the Secret of its connection."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters.credentials import (
    Limits,
    build_config,
    check_certificates,
    describe_tls,
    find_secret_key,
)
from quarterdeck.operators.clusters.endpoints import find_endpoint_problem
from quarterdeck.operators.clusters.failures import CredentialsUnavailable, InvalidEndpoint
from quarterdeck.operators.clusters.hub import Hub, Seen
from quarterdeck.operators.clusters.pool import ClusterAccess
from quarterdeck.operators.clusters.secrets import read_secret_values, read_secret_version
from quarterdeck.runtime import Context


class ClusterConnector:
    """Connects to the clusters of ClusterConnections."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def connect(
        self, connection: ClusterConnection, seen: Seen, ctx: Context[ClusterConnection]
    ) -> ClusterAccess:
        """The pooled client of a cluster; the Secret is read only when it or the spec changed.

        Raises:
            CredentialsUnavailable: if the endpoint or the Secret cannot be used.
        """
        key = find_secret_key(connection)
        assert key is not None
        version = f"{connection.metadata.generation}/{await read_secret_version(key, ctx)}"
        access = self._hub.pool.find(connection.metadata.uid)
        if access is not None and version == seen.secret_version and not version.endswith("/"):
            access.used_at = self._hub.clock.monotonic()
            return access
        config = await self._read_config(connection, key, ctx)
        status, reason, message = describe_tls(config)
        ctx.status.set_condition("TLSVerified", status, reason, message)
        access = await self._hub.pool.get(connection.metadata.uid, config)
        seen.secret_version = version
        return access

    async def _read_config(
        self, connection: ClusterConnection, key: Key, ctx: Context[ClusterConnection]
    ) -> ClusterConfig:
        if problem := find_endpoint_problem(connection.spec.endpoint):
            raise InvalidEndpoint(problem)
        values = await read_secret_values(key, ctx)
        if values is None:
            raise CredentialsUnavailable(f"spec.credentialsRef: Secret {key} not found")
        options = self._hub.options
        limits = Limits(requests_per_s=options.requests_per_s, burst=options.burst)
        config = build_config(connection, values, origin=f"Secret {key}", limits=limits)
        check_certificates(config, values, origin=f"Secret {key}")
        return config
