"""Certificates that have ended, or will soon, are named by `quarterdeck doctor`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quarterdeck.app import certificates, doctor
from quarterdeck.app.certificate_check import NEAR, check_certificates
from quarterdeck.app.clusters_settings import Settings as ClustersSettings
from quarterdeck.app.resolution import resolve
from quarterdeck.app.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
DECADE = timedelta(days=3650)


@pytest.mark.parametrize(
    ("after", "named"),
    [
        (timedelta(), []),
        (YEAR - NEAR - timedelta(days=1), []),
        (YEAR - NEAR + timedelta(days=1), [("server", False)]),
        (YEAR + timedelta(days=1), [("server", True)]),
        (
            DECADE + timedelta(days=1),
            [("authority", True), ("server", True), ("administrator", True)],
        ),
        (-timedelta(days=1), [("authority", True), ("server", True), ("administrator", True)]),
    ],
)
def test_certificates_are_named_before_and_after_their_end(
    tmp_path: Path, after: timedelta, named: list[tuple[str, bool]]
) -> None:
    made = certificates.ensure(tmp_path / "pki", NOW)
    paths = [made.certificate(name) for name in ("authority", "server", "administrator")]
    found = [*check_certificates(paths, NOW + after)]
    assert [(each.path.stem, each.is_expired) for each in found] == named


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.crt").write_text("nothing")
    (found,) = check_certificates([tmp_path / "a.crt", tmp_path / "absent.crt"], NOW)
    assert (found.path.stem, found.is_expired) == ("a", True)


async def test_doctor_says_what_happens_to_expired_certificates(tmp_path: Path) -> None:
    made = certificates.ensure(tmp_path / "pki", datetime.now(UTC) - 2 * YEAR)
    (tmp_path / "tls.crt").write_bytes(made.certificate("server").read_bytes())
    settings = Settings(data_dir=tmp_path)
    given = [tmp_path / "tls.crt", tmp_path / "absent.crt"]
    found = [each for each in await doctor.check(settings, given) if each.what == "certificate"]
    assert [(each.health, each.text.rpartition("; ")[2]) for each in found] == [
        (doctor.Health.NOTE, "the next start renews it"),
        (doctor.Health.BAD, "replace it"),
    ]
    assert all("expired at" in each.text for each in found)


def test_doctor_knows_the_certificates_of_every_service(tmp_path: Path) -> None:
    flags = {"metrics_cert_path": tmp_path / "metrics", "data_dir": tmp_path}
    part = ClustersSettings(
        hub_cert_path=tmp_path / "hub",
        ingester_tls_enabled=True,
        ingester_tls_cert=str(tmp_path / "ingester.crt"),
        ingester_tls_client_ca=str(tmp_path / "collectors.crt"),
        operators_ca_file=str(tmp_path / "operators.crt"),
    )
    effective = resolve(command="up", flags=flags, environment={})
    others = [each for each in effective.part_settings if type(each) is not type(part)]
    found = doctor.list_certificates(effective._replace(part_settings=(*others, part)))
    assert {str(each.relative_to(tmp_path)) for each in found} == {
        "metrics/tls.crt",
        "hub/tls.crt",
        "ingester.crt",
        "collectors.crt",
        "operators.crt",
    }


async def test_doctor_says_that_certificates_are_fine(tmp_path: Path) -> None:
    certificates.ensure(tmp_path / "pki", datetime.now(UTC))
    found = [
        each for each in await doctor.check(Settings(data_dir=tmp_path)) if "certif" in each.what
    ]
    assert [each.health for each in found] == [doctor.Health.OK]
