"""TLS contexts from PEM documents, in files or in memory."""

import ssl

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.errors import ConfigError
from quarterdeck.kit.pem import load_identity


class ClientContext(ssl.SSLContext):
    """A context that does not encode an ASCII server name with IDNA.

    `ssl` encodes text with the IDNA codec, whose tables take a millisecond and 0.4 MB to load, but
    not bytes. Event loops accept only text.
    """

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002  # as in the class above
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """As in `ssl.SSLContext`."""
        if isinstance(server_hostname, str) and server_hostname.isascii():
            server_hostname = server_hostname.encode("ascii")
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


def build_client_context(
    config: ClusterConfig, *, certificate: bytes = b"", key: bytes = b""
) -> ssl.SSLContext | None:
    """The context to reach a server with; None for plain HTTP.

    `certificate` and `key` are what a credential provider found; the configuration's own otherwise.

    Raises:
        ConfigError: if a certificate, key or bundle cannot be read.
    """
    if config.server.startswith("http://"):
        return None
    context = ClientContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_authority(context, config)
    certificate = certificate or config.client_certificate.read()
    key = key or config.client_key.read()
    if certificate:
        _load_identity(context, certificate, key or certificate)
    return context


def _load_authority(context: ssl.SSLContext, config: ClusterConfig) -> None:
    if config.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return
    if not config.certificate_authority:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(cadata=config.certificate_authority.read().decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise ConfigError("the certificate authority is not PEM") from error
    except OSError as error:
        raise ConfigError(f"cannot read the certificate authority: {error.strerror}") from error


def _load_identity(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    try:
        load_identity(context, certificate, key)
    except ssl.SSLError as error:
        raise ConfigError("the client certificate does not match its key") from error
