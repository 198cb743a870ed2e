"""The fenced blocks of the pages, for tests that run them.

What a block is, its fence says: no language, `sh`, `bash` or `console` are commands, `text` right
below commands is what the last of them prints. A comment above the fence says what the page's
reader does not need to see:

    <!-- file: web.yaml -->             the reader saves the block under this name (+ appends it)
    <!-- not run: needs Proxmox VE -->  the commands need what a test does not have
    <!-- given: kubectl create ns a --> what the reader has done before; Ctrl-C ends the server
    <!-- with: NAME=my-app -->          what the reader puts in place of NAME, from here on
"""

import re
import textwrap
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
SHELLS = ("", "sh", "bash", "console")
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```", flags=re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- (file|not run|given|with): (.+?) -->\n", flags=re.DOTALL)
_FILE_NAME = re.compile(r"# (\S+\.(?:ya?ml|json|py|csv))\n")


class Block(NamedTuple):
    """One fenced block."""

    page: Path
    line: int
    info: str
    """What stands behind the fence: a language, or nothing for a shell."""
    text: str
    above: str = ""
    """The page between the block before and this one."""

    @property
    def name(self) -> str:
        """Page and line, for the name of a test."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_shell(self) -> bool:
        """Whether the block holds commands."""
        return self.info in SHELLS

    @property
    def not_run(self) -> str:
        """Why no test runs the commands; empty for those that are run."""
        return self._read_comment("not run")

    @property
    def given(self) -> str:
        """Commands that stand for what the reader has done before."""
        return self._read_comment("given")

    @property
    def values(self) -> dict[str, str]:
        """What the reader puts in place of words of the page, in this block and below."""
        pairs = self._read_comment("with").split()
        return dict(pair.split("=", 1) for pair in pairs)

    @property
    def file_name(self) -> str:
        """The file that the reader makes of it, by a comment above it or its first line."""
        first = _FILE_NAME.match(self.text)
        return self._read_comment("file") or (first[1] if first else "")

    def _read_comment(self, kind: str) -> str:
        return "\n".join(text for name, text in _COMMENT.findall(self.above) if name == kind)


def list_blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text()
    blocks: list[Block] = []
    end = 0
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        body = textwrap.dedent(found[3]) if found[1] else found[3]
        blocks.append(Block(page, line, found[2].strip(), body, text[end : found.start()]))
        end = found.end()
    return blocks
