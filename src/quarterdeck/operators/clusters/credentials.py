"""Builds a client's configuration from a Secret: a token with a CA certificate, or a kubeconfig.

Secrets are watched by their metadata and read when that changes, so that no cache holds them and a
rotation is noticed at once.
"""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.registry_connection import RegistryConnection
from quarterdeck.apis.core.config import Secret as SecretObject
from quarterdeck.client.config import kubeconfig
from quarterdeck.client.config.cluster import ClusterConfig, PemSource
from quarterdeck.client.errors import ConfigError
from quarterdeck.client.interfaces import Form
from quarterdeck.client.tls import build_client_context
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.conditions import FALSE, TRUE, Status
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.clusters.conditions import Reason
from quarterdeck.operators.clusters.failures import CredentialsUnavailable
from quarterdeck.runtime import CacheScope

TOKEN = "token"
AUTHORITY = "ca.crt"
KUBECONFIG = "kubeconfig"
HEADS_ONLY = CacheScope(form=Form.METADATA)
_CONNECTIONS = 2
"""Connections to one cluster; few, because a TLS connection has a buffer of 256 KB."""
_MAX_BODY = 64 * 1024 * 1024
"""Largest response body in bytes, so that one cluster cannot fill the memory of the hub."""
_IDLE_S = 75.0
"""How long idle connections stay open: longer than the usual interval, to save handshakes."""


class SecretHead(Object, frozen=True, kw_only=True):
    """The metadata of a Secret."""

    KIND = SecretObject.KIND

    def __post_init__(self) -> None:
        """Skip the check of the kind: metadata alone has the kind PartialObjectMetadata."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on requests to one cluster."""

    timeout_s: float = 30.0
    requests_per_s: float = 100.0
    burst: int = 200


def find_secret_key(obj: ClusterConnection | RegistryConnection) -> Key | None:
    """The key of the Secret that an object names; None if it names none."""
    reference = obj.spec.credentials_ref
    if reference is None:
        return None
    return Key(reference.namespace or obj.metadata.namespace, reference.name)


def build_config(
    connection: ClusterConnection, values: Mapping[str, bytes], *, origin: str, limits: Limits
) -> ClusterConfig:
    """The configuration of a client.

    Raises:
        CredentialsUnavailable: naming the key that is missing or wrong.
    """
    base = (
        _parse_kubeconfig(values[KUBECONFIG], origin)
        if KUBECONFIG in values
        else _parse_token(values, origin)
    )
    is_insecure = connection.spec.insecure_skip_tls_verify or base.insecure_skip_tls_verify
    return msgspec.structs.replace(
        base,
        name=connection.metadata.name,
        server=connection.spec.endpoint.rstrip("/"),
        insecure_skip_tls_verify=is_insecure,
        certificate_authority=PemSource() if is_insecure else base.certificate_authority,
        user_agent="quarterdeck-hub",
        timeout_s=limits.timeout_s,
        connections=_CONNECTIONS,
        idle_s=_IDLE_S,
        max_body_bytes=_MAX_BODY,
        requests_per_s=limits.requests_per_s,
        burst=limits.burst,
    )


def check_certificates(config: ClusterConfig, values: Mapping[str, bytes], *, origin: str) -> None:
    """Load the certificates once, so that nothing claims to be verified by unusable ones.

    Raises:
        CredentialsUnavailable: naming the key that has them.
    """
    if not config.certificate_authority and not config.client_certificate:
        return
    try:
        build_client_context(config)
    except ConfigError as error:
        key = KUBECONFIG if KUBECONFIG in values else AUTHORITY
        raise CredentialsUnavailable(f"the key {key!r} of {origin}: {error}") from error


def describe_tls(config: ClusterConfig) -> tuple[Status, Reason, str]:
    """Status, reason and message of the condition TLSVerified."""
    if config.server.startswith("http://"):
        return FALSE, Reason.PLAIN_HTTP, "spec.endpoint is http: the connection is not encrypted"
    if config.insecure_skip_tls_verify:
        return (
            FALSE,
            Reason.INSECURE,
            "the certificate is not verified, because insecureSkipTLSVerify is set",
        )
    if not config.certificate_authority:
        text = (
            "the Secret has no ca.crt: the certificate is verified by the CA certificates of "
            "the system"
        )
        return TRUE, Reason.SYSTEM_TRUST, text
    return TRUE, Reason.VERIFIED, "the certificate is verified by ca.crt of the Secret"


def hash_identity(config: ClusterConfig) -> str:
    """A hash that changes with the address or the credentials, and shows neither."""
    parts = [
        config.server,
        config.tls_server_name,
        config.proxy_url,
        str(config.insecure_skip_tls_verify),
        config.token.reveal() if config.token else "",
        config.username,
        config.password.reveal() if config.password else "",
        *(
            material.read().decode(errors="replace")
            for material in (
                config.certificate_authority,
                config.client_certificate,
                config.client_key,
            )
        ),
    ]
    return sha256("\0".join(parts).encode()).hexdigest()


def _parse_token(values: Mapping[str, bytes], origin: str) -> ClusterConfig:
    token = values.get(TOKEN, b"").decode(errors="replace").strip()
    if not token:
        raise CredentialsUnavailable(f"{origin} has no key {TOKEN!r} and no key {KUBECONFIG!r}")
    if not token.isprintable() or any(each.isspace() for each in token):
        raise CredentialsUnavailable(
            f"the key {TOKEN!r} of {origin} contains a space or a control character"
        )
    authority = values.get(AUTHORITY, b"").strip()
    return ClusterConfig(
        server="",
        token=Secret(token),
        certificate_authority=PemSource(data=Secret(authority)) if authority else PemSource(),
    )


def _parse_kubeconfig(text: bytes, origin: str) -> ClusterConfig:
    try:
        parsed = kubeconfig.parse_inline(text, origin=f"the key {KUBECONFIG!r} of {origin}")
        return kubeconfig.resolve(parsed)
    except ConfigError as error:
        raise CredentialsUnavailable(str(error)) from error
