"""The fenced blocks of the pages, for tests that run them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```", flags=re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """One fenced block."""

    page: Path
    line: int
    info: str
    """What stands behind the fence: a language, or nothing for a shell."""
    text: str

    @property
    def name(self) -> str:
        """Page and line, for the name of a test."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def list_blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 2, found[2].strip(), found[3])
        for found in _FENCE.finditer(text)
    ]
