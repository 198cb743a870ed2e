"""Every reason that people can meet is explained."""

from pathlib import Path

from quarterdeck.operators.experiments.conditions import Reason

PAGE = Path(__file__).parents[4] / "docs/how-to/troubleshoot-experiments.md"


def test_every_reason_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert [reason for reason in Reason if f"`{reason}`" not in text] == []
