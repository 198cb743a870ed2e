"""What `doctor` says of certificates, kubectl, the disk and settings that are off."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from free_ports import FREE_SETTINGS

from quarterdeck.app import doctor
from quarterdeck.app.certificates import RENEWED, Certificates
from quarterdeck.app.cluster import DATABASE
from quarterdeck.app.doctor import Finding, Health, check, explain, list_certificates
from quarterdeck.app.resolution import resolve
from quarterdeck.app.settings import Settings
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.storage.lockfile import LockFile


async def find(settings: Settings, *certificates: Path) -> dict[str, Finding]:
    return {each.what: each for each in await check(settings, certificates)}


def build_settings(folder: Path, **changes: object) -> Settings:
    return Settings(**{**FREE_SETTINGS, "data_dir": folder, **changes})  # type: ignore[arg-type]


async def test_data_in_memory_and_ports_that_are_off_need_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = await find(build_settings(tmp_path, in_memory=True, http_port=None))
    assert found["data"] == Finding("data", Health.OK, "in memory, nothing is stored")
    assert "http port" not in found
    assert found["port"].text == "any free port"
    assert found["kubectl"].health is Health.NOTE
    assert "work without it" in found["kubectl"].text


@pytest.mark.parametrize(
    ("output", "health", "words"),
    [
        ('{"clientVersion": {"gitVersion": "v1.32.1"}}', Health.OK, "v1.32.1 ("),
        ("not JSON", Health.NOTE, "cannot read the version of"),
        ("{}", Health.NOTE, "cannot read the version of"),
    ],
)
async def test_version_of_kubectl_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, health: Health, words: str
) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f"#!/bin/sh\necho '{output}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = (await find(build_settings(tmp_path)))["kubectl"]
    assert found.health is health
    assert found.text.startswith(words)


async def test_data_that_a_server_uses_names_its_process(tmp_path: Path) -> None:
    lock = LockFile(tmp_path / f"{DATABASE}.lock")
    try:
        found = (await find(build_settings(tmp_path)))["data"]
    finally:
        lock.release()
    assert found.health is Health.NOTE
    assert f"quarterdeck runs on it (process {os.getpid()})" in found.text
    assert (await find(build_settings(tmp_path)))["data"].health is Health.OK


async def test_a_file_in_the_place_of_the_data_folder_is_bad(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    for folder in (taken, taken / "below"):
        found = (await find(build_settings(folder)))["data"]
        assert (found.health, found.text.partition(":")[0]) == (
            Health.BAD,
            f"{taken} is not a folder",
        )


async def test_disk_that_is_nearly_full_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_LEAST_FREE", 1 << 62)
    found = (await find(build_settings(tmp_path)))["data"]
    assert found.health is Health.BAD
    assert "free space, or choose another folder with --data-dir" in found.text


async def test_certificates_that_nobody_renews_are_bad_when_they_end(tmp_path: Path) -> None:
    kept, given = (
        Certificates(folder=tmp_path / "pki").certificate(RENEWED[0]),
        tmp_path / "hub.crt",
    )
    kept.parent.mkdir()
    settings = build_settings(tmp_path)
    write(given, timedelta(days=365))
    found = await find(settings, given)
    assert found["certificates"].text == "none expires within 30 days"
    write(given, timedelta(seconds=-1))
    bad = (await find(settings, given))["certificate"]
    assert bad.health is Health.BAD
    assert bad.text.endswith("; replace it")
    given.unlink()
    write(kept, timedelta(seconds=-1))
    (renewed,) = [each for each in await check(settings) if each.what.startswith("certificate")]
    assert renewed.text.endswith("; the next start renews it")
    assert renewed.health is Health.NOTE
    memory = build_settings(tmp_path, in_memory=True)
    assert not [each for each in await check(memory) if each.what.startswith("certificate")]


def write(path: Path, ends_in: timedelta) -> None:
    """A certificate that was issued a month before it ends."""
    lifetime = timedelta(days=366)
    request = CertificateRequest("doctor", lifetime, ("localhost",))
    issued = issue_certificate(request, now=datetime.now(UTC) + ends_in - lifetime)
    path.write_bytes(issued.encode_certificate())


def test_certificates_of_settings_are_listed() -> None:
    flags = {"metrics_cert_path": "/m", "hub_cert_path": "/h", "operators_ca_file": "/o.crt"}
    plain = {**flags, "ingester_tls_enabled": False}
    found = resolve(command="doctor", flags=plain, environment={}, document={}, file="")
    names = [str(each) for each in list_certificates(found)]
    assert names == ["/m/tls.crt", "/h/tls.crt", "/o.crt"]
    tls = {**flags, "ingester_tls_enabled": True, "ingester_tls_cert": "/i.crt"}
    found = resolve(command="doctor", flags=tls, environment={}, document={}, file="")
    assert "/i.crt" in [str(each) for each in list_certificates(found)]


async def test_what_this_machine_lacks_is_named_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quarterdeck.app.doctor._LEAST_PYTHON", (9, 0))
    monkeypatch.setattr("quarterdeck.app.doctor.find_spec", lambda _: None)
    monkeypatch.setattr("os.access", lambda *_: False)
    found = await find(build_settings(tmp_path))
    assert found["python"].health is Health.BAD
    assert found["python"].text.endswith("; Python 3.11 or newer is required")
    assert found["uvloop"].health is Health.NOTE
    assert found["uvloop"].text == "not installed: pip install 'quarterdeck[speed]'"
    assert found["data"].health is Health.BAD
    assert found["data"].text == (
        f"cannot write to {tmp_path}: choose another folder with --data-dir, or use --in-memory"
    )


def test_settings_are_shown_as_they_are_written() -> None:
    found = resolve(command="doctor", flags={}, environment={})
    shown = {each.name: each.value for each in explain(found, "up")}
    assert (shown["in_memory"], shown["port"], shown["kubeconfig"]) == ("false", "6443", "-")
