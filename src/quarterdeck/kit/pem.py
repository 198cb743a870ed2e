"""Loads certificates and keys from memory into TLS contexts.

Python's `ssl` reads a certificate and its key only from files, so they are written to a temporary
file while they are loaded: on Linux to a file in memory, so that keys are never on a disk.
"""

import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def load_identity(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Let a context show a certificate, given as PEM with its key.

    Raises:
        ssl.SSLError: if they are not PEM, or do not fit together.
    """
    with _to_file(certificate) as certificate_path, _to_file(key) as key_path:
        context.load_cert_chain(certificate_path, key_path)


def replace_identity(
    context: ssl.SSLContext, certificate: str | os.PathLike[str], key: str | os.PathLike[str]
) -> None:
    """Let a context in use show the certificate of other files, or leave it as it is.

    `load_cert_chain` replaces the certificate before it reads the key: if they do not fit together,
    the context is left without a key, and every handshake fails. So both are tried first.

    Raises:
        OSError: if a file cannot be read.
        ssl.SSLError: if they are not PEM, or do not fit together.
    """
    pair = _read(certificate), _read(key)
    load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), *pair)
    load_identity(context, *pair)


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@contextmanager
def _to_file(content: bytes) -> Iterator[str]:
    """A path of a temporary file with the content: in memory on Linux, else a private file."""
    if not (sys.platform == "linux" and os.path.isdir("/proc/self/fd")):
        with _find_on_disk(content) as path:
            yield path
        return
    with open(os.memfd_create("quarterdeck"), "wb", buffering=0) as file:
        file.write(content)
        yield f"/proc/self/fd/{file.fileno()}"


@contextmanager
def _find_on_disk(content: bytes) -> Iterator[str]:
    import tempfile  # with what it imports, half a megabyte that few need

    with tempfile.TemporaryDirectory(prefix="quarterdeck-") as folder:
        path = os.path.join(folder, "tls.pem")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        yield path
