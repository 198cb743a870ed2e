"""Certificates that `doctor` finds: expired, not valid yet, ending soon, or no certificate."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quarterdeck.app.certificate_check import NEAR, check_certificates
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LIFETIME = timedelta(days=90)


@pytest.mark.parametrize(
    ("passed", "words", "is_expired"),
    [
        pytest.param(LIFETIME, "expired at 2030-04-01T00:00:00Z", True, id="expired"),
        pytest.param(-LIFETIME, "is not valid before", True, id="not yet"),
        pytest.param(LIFETIME - NEAR / 2, "expires at 2030-04-01T00:00:00Z", False, id="soon"),
    ],
)
def test_certificate_that_somebody_has_to_look_at_is_named(
    tmp_path: Path, passed: timedelta, words: str, *, is_expired: bool
) -> None:
    path = tmp_path / "tls.crt"
    path.write_bytes(issue(LIFETIME))
    (found,) = check_certificates([path], NOW + passed)
    assert found.text.startswith(f"{path} {words}")
    assert found.is_expired == is_expired


def test_certificate_that_is_valid_or_absent_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "tls.crt"
    path.write_bytes(issue(LIFETIME) + issue(timedelta(days=1)))
    assert list(check_certificates([path, tmp_path / "absent.crt"], NOW)) == []


def test_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tls.crt"
    path.write_text("no certificate")
    (found,) = check_certificates([path], NOW)
    assert found.text == f"{path} is not a readable PEM certificate"


def issue(lifetime: timedelta) -> bytes:
    request = CertificateRequest("doctor", lifetime, ("localhost",))
    return issue_certificate(request, now=NOW).encode_certificate()
