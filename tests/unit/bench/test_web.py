"""The benchmark of the dashboard says at once what it lacks."""

from pathlib import Path

from bench.suites.web import build_page


def _write_builder(repository: Path, script: str) -> None:
    (repository / "tools").mkdir()
    (repository / "tools/web.sh").write_text(script)


def test_a_dashboard_that_cannot_be_built_is_reported_with_what_to_do(tmp_path: Path) -> None:
    _write_builder(tmp_path, "echo web: installing\necho npm: not found >&2\nexit 1\n")
    found = build_page(tmp_path)
    assert found is not None
    assert found.reason == "the dashboard is not built: run make web first (npm: not found)"


def test_a_dashboard_is_built_where_that_is_possible(tmp_path: Path) -> None:
    _write_builder(tmp_path, 'echo "$1" >built\n')
    assert build_page(tmp_path) is None
    assert (tmp_path / "built").read_text() == ".tools\n"
