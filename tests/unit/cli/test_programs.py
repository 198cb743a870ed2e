"""Entry points inside this process: envtest's programs, completion, written files, event loops."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop  # noqa: F401 - so that no test is blamed for the pipe of its first loop

from quarterdeck.app.errors import StartError
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.main import main, run
from quarterdeck.cli.shims import kube_apiserver, kubectl
from quarterdeck.cli.shims.program import run_program

Capture = pytest.CaptureFixture[str]


def exit_code(call: Callable[[], object]) -> object:
    with pytest.raises(SystemExit) as ended:
        call()
    return ended.value.code


async def _fail(arguments: list[str]) -> None:
    raise StartError(f"cannot start with {arguments}")


async def _interrupt(_: list[str]) -> None:
    raise BrokenPipeError


async def _end(_: list[str]) -> None:
    return


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_program_prints_its_help_without_starting(
    flag: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["etcd", "--data-dir=x", flag])
    assert exit_code(lambda: run_program("etcd", "usage: etcd", _fail)) == 0
    assert capsys.readouterr().out == "usage: etcd\n"


@pytest.mark.parametrize(
    ("start", "code", "line"),
    [
        (_end, 0, ""),
        (_fail, 2, "etcd: cannot start with ['--data-dir=x']\n"),
        (_interrupt, 0, ""),
    ],
)
def test_program_fails_in_one_line(
    start: Callable[[list[str]], object],
    code: int,
    line: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["etcd", "--data-dir=x"])
    assert exit_code(lambda: run_program("etcd", "", start)) == code  # type: ignore[arg-type]
    assert capsys.readouterr().err == line


def test_help_of_the_api_server_lists_flags_with_an_effect() -> None:
    assert "\n      --etcd-servers" in kube_apiserver._build_help()


def test_kubectl_of_envtest_is_the_one_on_the_path(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "kubectl").write_text(f"#!/bin/sh\necho {folder.name} $@\n")
        (folder / "kubectl").chmod(0o755)
    environment = {"PATH": f"{own}:{other}", "QUARTERDECK_ENVTEST": str(own)}
    program = [sys.executable, "-m", "quarterdeck.cli.shims.kubectl", "get", "pods"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "other get pods\n"
    monkeypatch.setenv("PATH", str(own))
    monkeypatch.setenv("QUARTERDECK_ENVTEST", str(own))
    assert exit_code(kubectl.main) == 127
    assert capsys.readouterr().err == "kubectl: not installed; put kubectl on the PATH\n"


def test_words_are_completed_one_on_a_line(capsys: Capture) -> None:
    assert run(["__complete", "server", "sn"]) == 0
    assert capsys.readouterr().out.splitlines() == ["snapshot"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_names_the_commands(shell: str, capsys: Capture) -> None:
    assert run(["completion", shell]) == 0
    assert "quarterdeck" in capsys.readouterr().out
    assert run(["completion", "tcsh"]) == 2


def test_version_is_printed_by_a_flag(capsys: Capture) -> None:
    assert exit_code(lambda: main(["--version"])) == 0
    assert capsys.readouterr().out.startswith("quarterdeck ")


def test_machine_agent_is_written_as_one_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "agent.pyz"
    assert run(["machine-agent", "--write", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}\n"
    done = subprocess.run([sys.executable, str(file), "--help"], capture_output=True, text=True)
    assert "--power-off" in done.stdout
    assert run(["machine-agent", "--config", str(tmp_path / "absent.json")]) == 1


def test_width_of_help_is_that_of_the_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = []
    for columns in ("60", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run(["get", "--help"]) == 0
        widths.append(max(map(len, capsys.readouterr().out.splitlines())))
    assert widths[0] <= 60 < widths[1] <= 120


@pytest.mark.parametrize("fast", [True, False])
def test_command_runs_on_either_loop(*, fast: bool) -> None:
    async def answer() -> str:
        return "done"

    assert run_loop(answer(), fast=fast) == "done"
