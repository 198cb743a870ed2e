"""Certificates for the TLS tests: one authority, a server, a client, and a stranger."""

import datetime
from pathlib import Path

import pytest

from quarterdeck.kit.certificate import Certificate, CertificateRequest, issue_certificate


def _issue(folder: Path, name: str, issuer: Certificate | None) -> Certificate:
    hosts = ("localhost", "127.0.0.1")
    request = CertificateRequest(
        name, datetime.timedelta(days=1), hosts, is_authority=issuer is None
    )
    issued = issue_certificate(request, now=datetime.datetime.now(datetime.UTC), issuer=issuer)
    pem = issued.encode_certificate()
    (folder / f"{name}.crt").write_bytes(pem)
    (folder / f"{name}.pem").write_bytes(pem + issued.encode_key())
    return issued


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.crt, and server.pem, client.pem (of ca) and stranger.pem (of nobody)."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = _issue(folder, "ca", None)
    _issue(folder, "server", authority)
    _issue(folder, "client", authority)
    _issue(folder, "stranger", None)
    return folder
