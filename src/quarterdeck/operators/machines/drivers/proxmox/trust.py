"""Verifies the certificate of a Proxmox VE host: by authorities, by its fingerprint, or not.

A fresh Proxmox VE has a certificate that its own authority signed. Instead of that authority's
certificate, users may give the SHA-256 fingerprint that the web UI shows.
"""

import asyncio
import hashlib
import re
import ssl
from urllib.parse import urlsplit

from quarterdeck.kit.http.origin import split_server_url
from quarterdeck.operators.machines.errors import Code, make_error

_FINGERPRINT = re.compile(r"(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}", re.IGNORECASE)


def read_fingerprint(text: str) -> str:
    """The digits of a SHA-256 fingerprint; empty if the text is something else."""
    text = text.strip()
    return text.replace(":", "").lower() if _FINGERPRINT.fullmatch(text) else ""


def check_endpoint(endpoint: str) -> None:
    """Check that requests can be sent to an endpoint.

    Raises:
        HypervisorError: UNAVAILABLE, without the endpoint, which may hold a password.
    """
    try:
        has_credentials = split_server_url(endpoint).username is not None
        is_usable = not has_credentials and endpoint.isascii() and " " not in endpoint
    except ValueError:
        is_usable = False
    if not is_usable:
        text = "spec.endpoint is not valid: write https://HOST:PORT, without credentials"
        raise make_error(Code.UNAVAILABLE, text)


async def open_context(
    endpoint: str, authorities: str, *, is_insecure: bool, timeout_s: float
) -> ssl.SSLContext | None:
    """The TLS context for an endpoint; None for plain HTTP.

    Raises:
        ConfigurationError: TLS if what to trust cannot be read, or the fingerprint differs.
        TransientError: UNAVAILABLE if the server does not answer when its certificate is read.
    """
    if not endpoint.startswith("https:"):
        return None
    if is_insecure:
        return _build_unverified_context()
    if fingerprint := read_fingerprint(authorities):
        return await _pin_certificate(endpoint, fingerprint, timeout_s)
    try:
        return ssl.create_default_context(cadata=authorities or None)
    except (ssl.SSLError, ValueError) as error:
        raise make_error(
            Code.TLS,
            "spec.tls.caCertificate is neither certificates in PEM nor a SHA-256 fingerprint",
        ) from error


def _build_unverified_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _pin_certificate(endpoint: str, fingerprint: str, timeout_s: float) -> ssl.SSLContext:
    """Build a context that trusts only the certificate with this fingerprint.

    The certificate is first read without verification. If its digest is the expected one, it
    becomes the trust anchor of every later handshake.
    """
    certificate = await _fetch_certificate(endpoint, timeout_s)
    found = hashlib.sha256(certificate).hexdigest()
    if found != fingerprint:
        raise make_error(
            Code.TLS,
            f"the certificate of {endpoint} has the fingerprint {found}, which is not the one in "
            "spec.tls.caCertificate",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context


async def _fetch_certificate(endpoint: str, timeout_s: float) -> bytes:
    parts = urlsplit(endpoint)
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or 443, ssl=_build_unverified_context()
            )
    except (OSError, TimeoutError, UnicodeError) as error:
        raise make_error(Code.UNAVAILABLE, f"{endpoint} does not answer: {error}") from error
    try:
        found: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
        try:
            await writer.wait_closed()
        except (OSError, ssl.SSLError):
            pass  # the certificate has been read; how the connection ends does not matter
    if not found:
        raise make_error(Code.TLS, f"{endpoint} shows no certificate")
    return found
