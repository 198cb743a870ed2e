"""Client certificates on connections that last longer than they are valid."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.server.authentication.authenticator import Authenticator
from quarterdeck.server.authentication.front_proxy import FrontProxy
from quarterdeck.server.authentication.issuer import Authorities
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.x509 import ClientCertificates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIFETIME = timedelta(hours=1)


@pytest.mark.parametrize("kind", ["client", "front proxy"])
async def test_a_certificate_is_refused_once_it_has_expired(tmp_path: Path, kind: str) -> None:
    authority = issue_certificate(CertificateRequest("ca", 2 * LIFETIME), now=NOW)
    (tmp_path / "ca.crt").write_bytes(authority.encode_certificate())
    made = issue_certificate(CertificateRequest("ann", LIFETIME), now=NOW, issuer=authority)
    der = ssl.PEM_cert_to_DER_cert(made.encode_certificate().decode())
    clock = VirtualClock(NOW)
    authorities = Authorities(tmp_path / "ca.crt")
    authenticator: Authenticator = ClientCertificates(authorities, clock=clock)
    if kind == "front proxy":
        authenticator = FrontProxy(authorities, clock=clock)
    request = http.Request.of(
        "GET",
        "/api",
        headers=[("x-remote-user", "ann")],
        peer=http.Peer("127.0.0.1:1", certificate=der, secure=True),
    )
    await clock.advance(LIFETIME.total_seconds())
    user = authenticator.authenticate(request)
    assert user is not None and user.name == "ann"
    await clock.advance(1)
    with pytest.raises(CredentialsRefused, match="expired at 2026-01-01T01:00:00Z"):
        authenticator.authenticate(request)
