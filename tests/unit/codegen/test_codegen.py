import functools
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from quarterdeck.codegen import __main__ as command
from quarterdeck.codegen import recorded_uses
from quarterdeck.codegen.files import File, Generator, Target, find_differences, write
from quarterdeck.codegen.registry import GENERATORS

ROOT = Path(__file__).parents[3]


def generator(*files: File) -> Generator:
    return Generator(name="test", target=Target.GENERATE, run=lambda: files, owns=("made/*.txt",))


@functools.cache
def generate(made_by: Generator) -> tuple[File, ...]:
    return tuple(made_by.run())


@pytest.fixture
def generated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands get the same files each time, and need not make them again."""
    once = [
        msgspec.structs.replace(each, run=functools.partial(generate, each)) for each in GENERATORS
    ]
    monkeypatch.setattr(command, "GENERATORS", once)


def test_generated_files_are_up_to_date() -> None:
    assert [str(difference) for difference in find_differences(ROOT, GENERATORS)] == []


def test_writing_creates_changes_and_removes(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "old.txt").write_text("old")
    (tmp_path / "made" / "b.txt").write_text("one\ntwo\n")
    (tmp_path / "made" / "same.txt").write_text("same")
    wanted = generator(
        File("made/a.txt", "a"), File("made/b.txt", "one\nthree\n"), File("made/same.txt", "same")
    )
    assert [str(each) for each in find_differences(tmp_path, [wanted])] == [
        "made/a.txt: is missing",
        "made/b.txt: differs from line 2",
        "made/old.txt: is no longer generated",
    ]
    assert write(tmp_path, wanted) == ["made/a.txt", "made/b.txt", "made/old.txt"]
    assert list(find_differences(tmp_path, [wanted])) == []
    assert write(tmp_path, wanted) == []


def test_a_file_that_ends_early_differs_where_it_ends(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a.txt").write_text("one\n")
    (found,) = find_differences(tmp_path, [generator(File("made/a.txt", "one\ntwo\n"))])
    assert str(found) == "made/a.txt: differs from line 2"


def test_a_folder_without_project_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["verify", "--root", str(tmp_path)]) == 2
    assert "not the root of the repository" in capsys.readouterr().err


@pytest.mark.usefixtures("generated_once")
def test_update_fills_an_empty_tree_and_verify_accepts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert command.main(["verify", "--root", str(tmp_path)]) == 1
    assert "run make update" in capsys.readouterr().err
    assert command.main(["generate", "--root", str(tmp_path)]) == 0
    assert command.main(["manifests", "--root", str(tmp_path)]) == 0
    shutil.copy(ROOT / recorded_uses.PATH, tmp_path / recorded_uses.PATH)  # tests write it
    assert command.main(["verify", "--root", str(tmp_path)]) == 0
    assert command.main(["generate", "--root", str(tmp_path)]) == 0


@pytest.mark.usefixtures("generated_once")
def test_a_breaking_change_is_neither_written_nor_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    command.main(["manifests", "--root", str(tmp_path)])
    path = tmp_path / "config/crd/bases/cloudnative.elide.dev_applications.yaml"
    older = path.read_text().replace("maximum: 100\n", "maximum: 500\n")
    path.write_text(older)
    capsys.readouterr()
    assert command.main(["manifests", "--root", str(tmp_path)]) == 1
    text = capsys.readouterr().err
    assert "v1: spec.replicas: maximum tightened from 500 to 100" in text
    assert "--allow-breaking" in text
    assert path.read_text() == older
    assert command.main(["verify", "--root", str(tmp_path)]) == 1
    assert "maximum tightened" in capsys.readouterr().err
    assert command.main(["manifests", "--allow-breaking", "--root", str(tmp_path)]) == 0
    assert "maximum: 100\n" in path.read_text()


SNIPPET = """
from quarterdeck.apis.applications.builders import ApplicationBuilder
from quarterdeck.apis.applications.v1 import Application
good: Application = ApplicationBuilder("a", "b").with_replicas(3).with_image("x").build()
ApplicationBuilder("a", "b").with_replica(3)
ApplicationBuilder("a", "b").with_replicas("3")
ApplicationBuilder("a", "b").with_strategy("BlueGreen")
ApplicationBuilder("a", "b").with_ports(80)
"""


@pytest.mark.slow
def test_a_type_checker_refuses_wrong_builder_calls(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET)
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--no-error-summary",
                "--hide-error-context",
            ),
            *("--cache-dir", str(tmp_path / "cache"), str(snippet)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
    )
    lines = [line for line in done.stdout.splitlines() if "snippet.py" in line and "error" in line]
    assert [line.split(":")[1] for line in lines] == ["5", "6", "7", "8"], done.stdout
