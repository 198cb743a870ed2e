"""The programs that envtest starts."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.app.envtest.folder import PROGRAMS, choose_folder, write_programs
from quarterdeck.app.errors import StartError

_NOW = datetime(2026, 11, 16, tzinfo=UTC)


def test_programs_are_scripts_that_become_our_own(tmp_path: Path) -> None:
    folder = write_programs(tmp_path / "a b", _NOW)
    assert folder.is_absolute()
    assert (folder / "pki").is_dir()
    for name, module in PROGRAMS.items():
        text = (folder / name).read_text()
        assert os.access(folder / name, os.X_OK)
        assert f"QUARTERDECK_ENVTEST='{folder}'" in text
        assert f'-m quarterdeck.cli.shims.{module} "$@"' in text


def test_a_folder_that_cannot_be_written_names_the_flag(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"cannot write .*Not a directory.*--dir"):
        write_programs(tmp_path / "file" / "folder", _NOW)


def test_the_folder_is_in_the_cache_of_the_user() -> None:
    assert choose_folder({"XDG_CACHE_HOME": "/cache"}) == Path("/cache/quarterdeck/envtest")
    assert choose_folder({}) == Path.home() / ".cache/quarterdeck/envtest"
