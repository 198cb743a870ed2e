"""`docs/reference/kubectl.md` lists what the tests in `tests/e2e/kubectl` really do.

The commands are read from the sources of those tests. Run with `QUARTERDECK_UPDATE=1` to write the
page anew.
"""

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests" / "e2e" / "kubectl"
PAGE = ROOT / "docs" / "reference" / "kubectl.md"
CALLERS = {"kubectl", "app"}
GROUPED = {"apply", "auth", "config", "create", "rollout", "set"}
"""Commands whose next word is a command too."""
COMMANDS = {
    "annotate",
    "api-resources",
    "api-versions",
    "apply",
    "attach",
    "auth",
    "autoscale",
    "cluster-info",
    "config",
    "cordon",
    "create",
    "debug",
    "delete",
    "describe",
    "diff",
    "drain",
    "edit",
    "events",
    "exec",
    "explain",
    "expose",
    "get",
    "kustomize",
    "label",
    "logs",
    "patch",
    "port-forward",
    "proxy",
    "replace",
    "rollout",
    "run",
    "scale",
    "set",
    "taint",
    "top",
    "uncordon",
    "version",
    "wait",
}
REFUSED = ("attach", "exec", "port-forward", "top")
HEAD = """# kubectl

What is tried with the real kubectl against `quarterdeck server --simulate-workloads`, and holds.
This page is written from the sources of `tests/e2e/kubectl` by
`tests/unit/docs/test_kubectl_page.py` (`QUARTERDECK_UPDATE=1 pytest …` writes it anew).

- Versions: {versions}. Every one that is installed does the core of a day's work
  (`tests/e2e/kubectl/test_versions.py`); everything else is done by the kubectl on the path.
- A cold `kubectl get` asks for discovery twice (`/api` and `/apis`), a warm one not at all.
- helm takes a chart from lint to uninstall (`tests/e2e/helm`, in `make test-full`).

| command | with | tests |
| --- | --- | --- |
"""
SAME = """
## Compared with Kubernetes
{count} commands print the same against kube-apiserver v1.32.10 (without controllers; times, uids,
versions and addresses are masked;
`tests/e2e/kubectl/test_same.py`, where KUBE_APISERVER and ETCD name the programs). The others:

| command | why |
| --- | --- |
"""
TAIL = """
## Refused
No container runs behind this API: {refused}
end with a plain sentence that says so. `logs` prints the lines that an annotation of a simulated
pod asks for.
Service accounts get tokens (`kubectl create token`) that authenticate; roles and bindings say what
they may do. See [Compatibility](compatibility.md).
"""


def uses() -> dict[str, tuple[set[str], set[str]]]:
    """Every command, with the flags and the test files it is tried in."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for path in sorted(TESTS.glob("test_*.py")):
        for words in _word_lists(ast.parse(path.read_text())):
            command = _command(words)
            flags, files = found.setdefault(command, (set(), set()))
            flags.update(_flag(each) for each in words[1:] if each.startswith("-") and each != "-")
            files.add(path.stem)
    return found


def _word_lists(tree: ast.AST) -> Iterator[list[str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_caller(node.func):
            words = _words(node.args)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "columns":
                words = ["get", *words]
        elif isinstance(node, ast.Tuple):
            words = _words(node.elts)
        else:
            continue
        if words and words[0] in COMMANDS:
            yield words


def _is_caller(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in CALLERS


def _words(nodes: list[ast.expr]) -> list[str]:
    """Constant words; a formatted one up to its first value."""
    words = []
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.append(node.value)
    return words


def _command(words: list[str]) -> str:
    first, *rest = words
    if first in GROUPED and rest and rest[0].replace("-", "").isalpha() and rest[0][0] != "-":
        return f"{first} {rest[0]}"
    return first


def _flag(word: str) -> str:
    name, equals, value = word.partition("=")
    named = ("--cascade", "--for", "--subresource", "--type", "--dry-run")
    if name in named and equals and value:
        return f"{name}={value.partition('=')[0].partition('{')[0]}".rstrip("=")
    return name


def compared() -> str:
    """How many commands are the same, and why the others are not."""
    names: dict[str, Any] = {}
    for node in ast.parse((TESTS / "test_same.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper():
            target = ast.unparse(node.targets[0])
            if target in ("PROSE", "PATCHED", "GO", "KNOWN"):
                names[target] = eval(ast.unparse(node.value), {}, names)
    commands = (TESTS / "same" / "commands.txt").read_text().splitlines()
    known: dict[str, str] = names["KNOWN"]
    rows = [f"| `{command}` | {reason} |" for command, reason in known.items()]
    same = sum(command not in known for command in commands)
    return SAME.format(count=same) + "\n".join(rows) + "\n"


def rendered() -> str:
    versions = ast.parse((TESTS / "test_versions.py").read_text())
    tried = next(
        ast.literal_eval(node.value)
        for node in versions.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TRIED"
    )
    rows = [
        " | ".join(
            [
                f"| {command}",
                " ".join(f"`{flag}`" for flag in sorted(flags)),
                ", ".join(sorted(name.removeprefix("test_") for name in files)) + " |",
            ]
        ).replace("|  |", "| |")
        for command, (flags, files) in sorted(uses().items())
    ]
    refused = ", ".join(f"`{each}`" for each in REFUSED)
    listed = f"1.{min(tried)} to 1.{max(tried)}"
    return (
        HEAD.format(versions=listed)
        + "\n".join(rows)
        + "\n"
        + compared()
        + TAIL.format(refused=refused)
    )


def test_page_says_what_the_tests_do() -> None:
    if os.environ.get("QUARTERDECK_UPDATE"):
        PAGE.write_text(rendered())
    assert PAGE.read_text() == rendered()


def test_every_command_of_a_session_is_tried() -> None:
    tried = {command.partition(" ")[0] for command in uses()}
    assert tried == COMMANDS
