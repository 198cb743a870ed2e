"""Control characters of objects do not reach the terminal, whatever command shows them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.cli.main import run

CLEAR = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\u202e"
COMMANDS: list[list[str]] = [
    ["get", "cm", "one"],
    ["get", "cm", "one", "-o", "yaml"],
    ["get", "cm", "one", "-o", "json"],
    ["get", "cm", "one", "-o", "jsonpath={.data.color}"],
    ["get", "events"],
    ["describe", "cm/one"],
    ["events"],
]


@pytest.fixture
def hostile(kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A kubeconfig of a server with an object and an event that try to act on terminals."""
    metadata = {"name": "one", "annotations": {"a": CLEAR}}
    color: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    about = {"kind": "ConfigMap", "namespace": "default", "name": "one"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": about,
        "type": CLEAR,
        "reason": CLEAR,
        "message": f"{CLEAR} it is blue now",
        "source": {"component": CLEAR},
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    items = [color | {"data": {"color": CLEAR}}, event]
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert run(["apply", "-f", str(path), "--kubeconfig", str(kubeconfig)]) == 0
    capsys.readouterr()
    return kubeconfig


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_command_prints_control_characters(
    arguments: list[str],
    hostile: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run([*arguments, "--kubeconfig", str(hostile)]) == 0
    shown = capsys.readouterr()
    acting = [each for each in shown.out + shown.err if not each.isprintable() and each != "\n"]
    assert acting == [], shown.out


def test_json_and_jsonpath_keep_control_characters(
    hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ("json", "jsonpath={.data.color}"):
        assert run(["get", "cm", "one", "-o", form, "--kubeconfig", str(hostile)]) == 0
        shown = capsys.readouterr().out
        found = json.loads(shown)["data"]["color"] if form == "json" else shown.removesuffix("\n")
        assert found == CLEAR


def test_errors_contain_no_control_characters(
    hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["get", "cm", f"a{CLEAR}", "--kubeconfig", str(hostile)]) != 0
    shown = capsys.readouterr()
    assert all(each.isprintable() or each == "\n" for each in shown.out + shown.err), shown.err
