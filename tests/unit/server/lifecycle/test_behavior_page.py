"""The page about simulated workloads names what there is."""

import re
from pathlib import Path

from quarterdeck.server.kinds.simulation import PREFIX
from quarterdeck.server.lifecycle.workloads import behavior

PAGE = Path(__file__).parents[4] / "docs/how-to/simulate-workloads.md"


def test_page_lists_every_failure() -> None:
    text = PAGE.read_text()
    table = text[text.index("| failure |") : text.index("## Other knobs")]
    listed = {
        name
        for line in table.splitlines()[2:]
        for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    assert listed == set(behavior.FAILURES)


def test_page_lists_every_annotation_of_pods() -> None:
    listed = set(re.findall(r"^\| `(simulate\.quarterdeck\.dev/[\w-]+)`", PAGE.read_text(), re.M))
    documented = set(re.findall(rf"{re.escape(PREFIX)}[\w-]+", behavior.__doc__ or ""))
    assert listed == documented
