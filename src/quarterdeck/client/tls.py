"""TLS contexts from PEM documents, in files or in memory.

Python's `ssl` reads a key only from a file, so keys that came inside a kubeconfig become one for
the moment of loading: a file in memory where there are such, so that they never touch a disk.
"""

import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.errors import ConfigError


def client_context(
    config: ClusterConfig, *, certificate: bytes = b"", key: bytes = b""
) -> ssl.SSLContext | None:
    """The context to reach a server with; None for plain HTTP.

    `certificate` and `key` are what a credential provider found; the configuration's own otherwise.

    Raises:
        ConfigError: if a certificate, key or bundle cannot be read.
    """
    if config.server.startswith("http://"):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _trust(context, config)
    certificate = certificate or config.client_certificate.read()
    key = key or config.client_key.read()
    if certificate:
        _identify(context, certificate, key or certificate)
    return context


def _trust(context: ssl.SSLContext, config: ClusterConfig) -> None:
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


def _identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    with _as_file(certificate) as certificate_path, _as_file(key) as key_path:
        try:
            context.load_cert_chain(certificate_path, key_path)
        except ssl.SSLError as error:
            raise ConfigError("the client certificate and its key do not fit together") from error


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path to read it from, in memory where the system has such files, else in a private one."""
    if not (sys.platform == "linux" and os.path.isdir("/proc/self/fd")):
        with _on_disk(content) as path:
            yield path
        return
    with open(os.memfd_create("quarterdeck"), "wb", buffering=0) as file:
        file.write(content)
        yield f"/proc/self/fd/{file.fileno()}"


@contextmanager
def _on_disk(content: bytes) -> Iterator[str]:
    import tempfile  # costs half a megabyte that few need

    with tempfile.TemporaryDirectory(prefix="quarterdeck-") as folder:
        path = os.path.join(folder, "tls.pem")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        yield path
