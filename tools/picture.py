"""Draws a terminal screen as SVG: `quarterdeck up --demo | python tools/picture.py OUT.svg`."""

import html
import sys
from pathlib import Path

ADVANCE, LINE, PAD = 8.4, 20, 18


def draw(lines: list[str]) -> str:
    width = max(len(line) for line in lines) * ADVANCE + 2 * PAD
    height = len(lines) * LINE + 2 * PAD
    rows = "\n".join(
        f'  <text x="{PAD}" y="{PAD + LINE * (number + 0.7):.0f}" fill="{color(line)}" '
        f'xml:space="preserve">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
        if line.strip()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">\n'
        f'  <rect width="100%" height="100%" rx="10" fill="#10151c"/>\n{rows}\n</svg>\n'
    )


def color(line: str) -> str:
    if line.startswith("Quarterdeck"):
        return "#7ee787"
    if line.startswith("    ") and line.strip():
        return "#a5d6ff"
    return "#d8dee6"


def main() -> None:
    lines = [line.rstrip() for line in sys.stdin.read().splitlines()]
    Path(sys.argv[1]).write_text(draw(lines))


if __name__ == "__main__":
    main()
