"""What a shell offers for the word at the cursor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quarterdeck.cli.main import run
from quarterdeck.cli.word_completion import complete

MAPS = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "alpha"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beta"}},
    ],
}


@pytest.fixture
def server(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maps.json").write_text(json.dumps(MAPS))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert run(["apply", "-f", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["desc"], ["describe"]),
        (["pipelines", "pro"], ["promote"]),
        (["get", "configm"], ["configmaps"]),
        (["get", "configmaps", "al"], ["alpha"]),
        (["get", "cm", "--json", "be"], ["beta"]),
        (["get", "cm/a"], ["cm/alpha"]),
        (["get", "cm", "-n", "kube-p"], ["kube-public"]),
        (["get", "cm", "-n", "kube-public", "al"], []),
        (["delete", "cm", "alpha", "be"], ["beta"]),
        (["get", "cm", "-o", "y"], ["yaml"]),
        (["events", "--output", "j"], ["json"]),
        (["get", "cm", "--all-n"], ["--all-namespaces"]),
        (["logs", "cm/be"], ["cm/beta"]),
        (["completion", "f"], ["fish"]),
        (["get", "nonsense", ""], []),
        (["apply", ""], []),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("server")
def test_words_are_offered(words: list[str], offered: list[str]) -> None:
    assert complete(words) == offered


def test_without_a_cluster_nothing_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert complete(["get", ""]) == []


@pytest.mark.usefixtures("server")
def test_bash_offers_kinds_and_names(kubeconfig: Path, tmp_path: Path) -> None:
    program = tmp_path / "quarterdeck"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m quarterdeck.cli "$@"\n')
    program.chmod(0o755)
    script = (
        "source <(quarterdeck completion bash)\n"
        "COMP_WORDS=(quarterdeck get configmaps al); COMP_CWORD=3; _quarterdeck\n"
        'echo "${COMPREPLY[@]}"\n'
        "COMP_WORDS=(quarterdeck get --js); COMP_CWORD=2; _quarterdeck\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["alpha", "--json"], done.stderr
