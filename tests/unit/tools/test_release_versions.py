"""A release is refused when one of its parts has another version."""

import json
import zipfile
from pathlib import Path

import pytest
import release_versions
from hypothesis import given
from hypothesis import strategies as st

import quarterdeck

PARTS = ("package", "changelog", "chart", "wheel", "sdist", "image", "bill of materials")


def test_equal_versions_are_one_release() -> None:
    assert release_versions.compare_versions(dict.fromkeys(PARTS, "1.2.3")) == []


@given(st.sampled_from(PARTS[1:]), st.sampled_from([None, "1.2.4", "Unreleased"]))
def test_part_that_disagrees_is_named(part: str, version: str | None) -> None:
    found: dict[str, str | None] = {**dict.fromkeys(PARTS, "1.2.3"), part: version}
    (problem,) = release_versions.compare_versions(found)
    assert problem.startswith(f"{part}: ")
    assert (version or "not found") in problem


def test_versions_are_read_from_the_repository_and_the_built_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "quarterdeck-9-py3-none-any.whl", "w") as archive:
        archive.writestr("quarterdeck-9.dist-info/METADATA", "Name: quarterdeck\nVersion: 9\n")
    (tmp_path / "image.cdx.json").write_text(
        json.dumps({"metadata": {"component": {"version": "8"}}})
    )
    found = release_versions.read_versions(tmp_path)
    own = quarterdeck.__version__
    assert (found["package"], found["chart"], found["chart's appVersion"]) == (own, own, own)
    assert (found["wheel"], found["bill of materials"]) == ("9", "8")
    assert found["sdist"] is None
    assert found["image"] is None


def test_missing_files_end_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["release_versions.py", str(tmp_path)])
    assert release_versions.main() == 1
    assert "release-check: wheel: not found" in capsys.readouterr().err
