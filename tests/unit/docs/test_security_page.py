"""SECURITY.md: each promise names tests, and they exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[(test_\w+)\]\((tests/[\w/]+\.py)\)")


def list_promises() -> list[str]:
    promised = PAGE.partition("## What is promised")[2].partition("### What is not promised")[0]
    return [line for line in promised.splitlines() if line.startswith("- ")]


def test_every_promise_names_a_test() -> None:
    assert len(list_promises()) > 15
    assert [line for line in list_promises() if not LINK.search(line)] == []


def test_every_named_test_exists() -> None:
    found = LINK.findall(PAGE)
    missing = [
        (name, path)
        for name, path in found
        if not (ROOT / path).is_file() or f"def {name}(" not in (ROOT / path).read_text("utf-8")
    ]
    assert missing == []
