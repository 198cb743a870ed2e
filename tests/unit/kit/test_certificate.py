"""Certificates: TLS peers accept what is issued, and nothing else."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from quarterdeck.kit.certificate import (
    Certificate,
    CertificateRequest,
    issue_certificate,
)

LIFETIME = timedelta(days=1)
HOSTS = ("localhost", "127.0.0.1")
SERVER = CertificateRequest("server", LIFETIME, HOSTS)


def now() -> datetime:
    return datetime.now(UTC)


def handshake(server: Certificate, trusted: Certificate, host: str, folder: Path) -> None:
    """Connect by TLS to a server with one certificate, trusting another."""
    pem = folder / "server.pem"
    pem.write_bytes(server.encode_certificate() + server.encode_key())
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(pem)
    connecting = ssl.create_default_context(cadata=trusted.encode_certificate().decode())
    client_in, client_out, server_in, server_out = (ssl.MemoryBIO() for _ in range(4))
    client = connecting.wrap_bio(client_in, client_out, server_hostname=host)
    other = serving.wrap_bio(server_in, server_out, server_side=True)
    for _ in range(4):
        for side in (client, other):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
            server_in.write(client_out.read())
            client_in.write(server_out.read())
    assert client.getpeercert()


@pytest.mark.parametrize("host", HOSTS)
def test_clients_that_trust_the_authority_accept_a_server(host: str, tmp_path: Path) -> None:
    authority = issue_certificate(CertificateRequest("ca", LIFETIME, is_authority=True), now=now())
    server = issue_certificate(SERVER, now=now(), issuer=authority)
    handshake(server, authority, host, tmp_path)


def test_clients_can_trust_a_self_signed_server(tmp_path: Path) -> None:
    server = issue_certificate(SERVER, now=now())
    handshake(server, server, "localhost", tmp_path)


def test_another_host_is_refused(tmp_path: Path) -> None:
    server = issue_certificate(SERVER, now=now())
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(server, server, "elsewhere", tmp_path)


def test_a_server_that_signs_certificates_is_refused(tmp_path: Path) -> None:
    authority = issue_certificate(CertificateRequest("ca", LIFETIME, is_authority=True), now=now())
    server = issue_certificate(SERVER, now=now(), issuer=authority)
    forged = issue_certificate(SERVER, now=now(), issuer=server)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(forged, authority, "localhost", tmp_path)


def test_the_request_is_what_the_certificate_says() -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)
    request = CertificateRequest("alice", LIFETIME, organization="system:masters")
    certificate = issue_certificate(request, now=start).certificate
    assert certificate.subject.rfc4514_string() == "CN=alice,O=system:masters"
    assert certificate.not_valid_after_utc == start + LIFETIME
    assert certificate.not_valid_before_utc <= start
    with pytest.raises(x509.ExtensionNotFound):
        certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
