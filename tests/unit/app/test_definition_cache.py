"""Definitions kept from one start to the next."""

from pathlib import Path

import msgspec
import pytest

import quarterdeck
from quarterdeck.apis.applications.v1 import KINDS
from quarterdeck.app.definition_cache import FILE, load_manifests
from quarterdeck.meta import crd

BUILT = crd.build_manifests(KINDS)


def test_definitions_are_read_as_they_were_built(tmp_path: Path) -> None:
    assert load_manifests(KINDS, tmp_path) == BUILT
    written = (tmp_path / FILE).stat().st_mtime_ns
    assert load_manifests(KINDS, tmp_path) == BUILT
    assert (tmp_path / FILE).stat().st_mtime_ns == written


def test_definitions_of_other_sources_are_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "apis" / "kind.py"
    for package in ("apis", "kit", "meta"):
        (tmp_path / package).mkdir()
    source.write_text("first")
    monkeypatch.setattr(quarterdeck, "__file__", str(tmp_path / "__init__.py"))
    load_manifests(KINDS, tmp_path)
    _change_first_manifest(tmp_path / FILE)
    assert load_manifests(KINDS, tmp_path) != BUILT
    source.write_text("second")
    assert load_manifests(KINDS, tmp_path) == BUILT


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"fingerprint": 1}', b"\xff"])
def test_a_damaged_file_is_written_again(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / FILE).write_bytes(damaged)
    assert load_manifests(KINDS, tmp_path) == BUILT
    assert msgspec.json.decode((tmp_path / FILE).read_bytes())["manifests"] == BUILT


def _change_first_manifest(file: Path) -> None:
    cached = msgspec.json.decode(file.read_bytes())
    cached["manifests"][0]["kind"] = "Changed"
    file.write_bytes(msgspec.json.encode(cached))
