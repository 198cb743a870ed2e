"""The config file of `up`, `run` and `doctor`: what is wrong with it is said in one line."""

from pathlib import Path

import pytest

from quarterdeck.app.errors import SettingError
from quarterdeck.cli.settings import read_file


def test_default_file_may_be_absent_and_a_given_one_may_not(tmp_path: Path) -> None:
    assert read_file("", tmp_path) == ({}, "")
    with pytest.raises(SettingError, match=r"absent\.yaml does not exist: check --config"):
        read_file(str(tmp_path / "absent.yaml"))


def test_default_file_is_read_from_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "quarterdeck.yaml"
    file.write_text("logLevel: debug\n")
    assert read_file("", tmp_path) == ({"logLevel": "debug"}, str(file))


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_empty_file_sets_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    assert read_file(str(file)) == ({}, str(file))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("- a\n", "must be a mapping of settings to values", id="list"),
        pytest.param("port: [", "cannot parse config file .* as YAML", id="not YAML"),
    ],
)
def test_file_that_is_no_mapping_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(SettingError, match=words):
        read_file(str(file))


def test_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=f"cannot read config file {tmp_path}: Is a directory"):
        read_file(str(tmp_path))
