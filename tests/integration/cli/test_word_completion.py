"""What a shell offers for the word at the cursor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quarterdeck.cli.main import run
from quarterdeck.cli.word_completion import complete, read_limit
from quarterdeck.testing import programs

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
    monkeypatch.setenv("QUARTERDECK_COMPLETION_TIMEOUT", "200")  # a busy machine needs more than 2
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
        (["get", "cm", "--context", "q"], ["quarterdeck"]),
        (["get", "cm", "--context=quarterdeck", "al"], ["alpha"]),
        (["completion", "f"], ["fish"]),
        (["get", "nonsense", ""], []),
        (["apply", ""], []),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("server")
def test_words_are_offered(words: list[str], offered: list[str]) -> None:
    assert complete(words) == offered


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 2.0), ("0.5", 0.5), ("soon", 2.0), ("0", 2.0), ("nan", 2.0)]
)
def test_a_cluster_has_two_seconds_unless_told_otherwise(text: str, seconds: float) -> None:
    assert read_limit(text) == seconds


def test_without_a_cluster_nothing_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert complete(["get", ""]) == []


def test_contexts_are_those_of_the_kubeconfig_that_is_named(tmp_path: Path) -> None:
    named = tmp_path / "config"
    contexts = [{"name": each, "context": {"cluster": "c"}} for each in ("west", "east")]
    named.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "contexts": contexts}))
    assert complete(["get", "pods", "--kubeconfig", str(named), "--context", ""]) == [
        "east",
        "west",
    ]


def test_a_kubeconfig_that_cannot_be_read_offers_no_contexts(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("[")
    for name in ("broken", "none"):
        words = ["get", "pods", "--kubeconfig", str(tmp_path / name), "--context", ""]
        assert complete(words) == []


BASH = """
source <(quarterdeck completion bash)
try() { COMP_WORDS=(quarterdeck "$@"); COMP_CWORD=$#; _quarterdeck; echo "${COMPREPLY[@]}"; }
"""
ZSH = """
autoload -Uz compinit && compinit -u -D
source <(quarterdeck completion zsh)
compadd() { shift; print -r -- "$@"; }
try() { words=(quarterdeck "$@"); CURRENT=${#words}; _quarterdeck; }
"""
FISH = """
quarterdeck completion fish | source
function try
    set -l line (string join -- " " quarterdeck $argv)
    complete -C "$line" | string replace -r "\\t.*" "" | string join -- " "
end
"""


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        pytest.param("bash", BASH, id="bash"),
        pytest.param("zsh", ZSH, id="zsh"),
        pytest.param("fish", FISH, id="fish"),
    ],
)
@pytest.mark.usefixtures("server")
def test_a_shell_offers_commands_kinds_names_flags_and_contexts(
    shell: str, script: str, tmp_path: Path
) -> None:
    programs.require(shell)
    program = tmp_path / "quarterdeck"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m quarterdeck.cli "$@"\n')
    program.chmod(0o755)
    tried = ("descr", "get configmaps al", "get --js", "get cm --context q", "pipelines pro")
    done = subprocess.run(
        [shell, "-c", script + "\n".join(f"try {each}" for each in tried)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    wanted = ["describe", "alpha", "--json", "quarterdeck", "promote"]
    assert done.stdout.splitlines() == wanted, done.stderr


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        pytest.param("bash", BASH, id="bash"),
        pytest.param("zsh", ZSH, id="zsh"),
        pytest.param("fish", FISH, id="fish"),
    ],
)
def test_nobody_is_asked_for_a_password_while_typing(
    shell: str, script: str, tmp_path: Path
) -> None:
    programs.require(shell)
    program = tmp_path / "quarterdeck"
    program.write_text(
        f"""#!/bin/sh
[ "$1" != completion ] || exec {sys.executable} -m quarterdeck.cli "$@"
echo "Password:" >&2
[ -t 0 ] && echo terminal || echo nobody
"""
    )
    program.chmod(0o755)
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [shell, "-c", f"{script}try get configmaps ''"],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    words = done.stdout.split()  # fish offers files, too
    assert ("nobody" in words, "terminal" in words) == (True, False)
    assert "Password" not in done.stderr
