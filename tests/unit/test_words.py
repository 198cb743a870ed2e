"""Messages and names keep the rules of docs/explanation/glossary.md that a program can check.

Raised errors and log lines avoid riddles and personification, and have no full stop. What does not
exist is "not found", as in Kubernetes. Help of flags is a sentence. Test names are sentences.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
RIDDLES = re.compile(
    r"(?<!there )\b(?:is|are) (?:none\b|no (?!longer|more))"
    r"|\bso (?:many|long)\b|\b(?:wants|knows|says|vouches)\b|\b(?:nobody|somebody)\b"
)
KUBERNETES_STOPS = (
    "Name parameter required.",
    "to pod running with different serviceaccount name.",
    "which the eviction subresource does not support.",
)
"""Messages that Kubernetes itself ends with a full stop."""

NOT_FOUND_PACKAGES = {"agents", "app", "cli", "operators", "services", "telemetry"}
"""Where a missing object has one wording; layers below also repeat words of Kubernetes and CEL."""
FLAG_ROW = re.compile(r"\| `-[^|]*` \| (?P<help>[^|`][^|]*) \|")


def join_text(node: ast.expr) -> str:
    """The text of a string or f-string; a value in it counts as one character."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(join_text(each) or "\0" for each in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return join_text(left) + join_text(right)
    return ""


def list_messages(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of what is raised and logged."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Raise(exc=ast.Call(args=arguments)):
                shown = arguments
            case ast.Call(func=ast.Attribute(attr=level), args=[first, *_]) if level in LEVELS:
                shown = [first]
            case _:
                continue
        yield from ((each.lineno, text) for each in shown if (text := join_text(each)))


def find_problem(text: str, package: str = "") -> str:
    """What is wrong with a message of a package; empty if nothing is."""
    if package in NOT_FOUND_PACKAGES and text.startswith("there is no "):
        return "write 'X not found', and what to do"
    if found := RIDDLES.search(text):
        return f"{found[0]!r}: say plainly what is wrong, and what was expected"
    if text.endswith(".") and not text.endswith(("...", *KUBERNETES_STOPS)):
        return "remove the full stop at the end"
    return ""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "src" / "quarterdeck").iterdir()), ids=lambda path: path.name
)
def test_messages_are_plain_and_without_a_full_stop(path: Path) -> None:
    problems = [
        f"{file.relative_to(ROOT)}:{line}: {text!r}: {problem}"
        for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
        if file.suffix == ".py"
        for line, text in list_messages(file.read_text())
        if (problem := find_problem(text, path.name))
    ]
    assert problems == []


def test_help_of_every_flag_is_a_sentence() -> None:
    """The page is generated from the flags, and `codegen verify` keeps it so."""
    rows = FLAG_ROW.findall((ROOT / "docs" / "reference" / "cli.md").read_text())
    sentences = [re.sub(r"\.( \(default: .*\))?( \[env: .*\])?$", ".", each) for each in rows]
    assert len(sentences) > 200
    assert [each for each in sentences if not each.endswith(".")] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('raise E(f"{n} seconds is no time")', True, id="understatement"),
        pytest.param('raise E("the server wants" + " a token")', True, id="personification"),
        pytest.param('log.info("started.")', True, id="full stop"),
        pytest.param('raise E(f"there is no node {name}")', False, id="plain absence"),
        pytest.param('log.error("cannot bind port 80")', False, id="plain failure"),
        pytest.param('x = "is no message"', False, id="not shown"),
    ],
)
def test_riddles_are_found_and_plain_messages_pass(source: str, expected: bool) -> None:
    found = [find_problem(text) for _, text in list_messages(source)]
    assert any(found) is expected


def test_missing_objects_have_one_wording_above_the_server() -> None:
    assert find_problem("there is no node \0", "operators")
    assert not find_problem("node \0 not found", "operators")
    assert not find_problem("there is no field \0", "engine")


def test_names_of_tests_are_sentences() -> None:
    short = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_") and node.name.count("_") < 2
    ]
    assert short == []
