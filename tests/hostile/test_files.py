"""Links where files are written, keys that are gone or empty."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.app import certificates, kubeconfig
from quarterdeck.app.embedded import check_signing_key
from quarterdeck.app.errors import StartError
from quarterdeck.kit.private_file import write_private_file

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_links_where_a_file_is_written_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    target = tmp_path / "kubeconfig"
    target.symlink_to(victim)
    (tmp_path / f".kubeconfig.{os.getpid()}").symlink_to(victim)
    kubeconfig.write_plain(target, "http://127.0.0.1:1")
    assert victim.read_text() == "precious"
    assert not target.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError):
        write_private_file(target, b"data")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", ["authority.key", "authority.crt"])
def test_missing_part_of_the_authority_is_never_made_anew(tmp_path: Path, name: str) -> None:
    certificates.ensure(tmp_path, NOW)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != name}
    (tmp_path / name).unlink()
    with pytest.raises(StartError, match=rf"{name} is missing.*backup"):
        certificates.ensure(tmp_path, NOW)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["server.key", "administrator.crt"])
def test_other_missing_files_are_issued_by_the_same_authority(tmp_path: Path, name: str) -> None:
    made = certificates.ensure(tmp_path, NOW)
    authority = made.certificate("authority").read_bytes()
    (tmp_path / name).unlink()
    certificates.ensure(tmp_path, NOW)
    assert (tmp_path / name).is_file()
    assert made.certificate("authority").read_bytes() == authority
    made.server_context()


def test_interrupted_first_start_is_repeated(tmp_path: Path) -> None:
    made = certificates.ensure(tmp_path, NOW)
    for path in list(tmp_path.iterdir()):
        if path != made.key("authority"):
            path.unlink()
    certificates.ensure(tmp_path, NOW).server_context()


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"", "is empty"), (b"\n", "is empty"), (b"junk", "holds no private key")],
    ids=["empty", "blank", "something else"],
)
def test_unusable_token_key_is_a_start_error(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "service-accounts.key"
    path.write_bytes(data)
    with pytest.raises(StartError, match=problem):
        check_signing_key(path)


def test_made_token_key_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "service-accounts.key"
    certificates.make_key(path)
    check_signing_key(path)
