"""Every reason that people can meet is explained."""

import re
from pathlib import Path

from quarterdeck.kit.metrics import Registry
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.metrics import ExperimentMetrics

GUIDES = Path(__file__).parents[4] / "docs/how-to"
PAGE = GUIDES / "troubleshoot-experiments.md"
DEFECTS = GUIDES.parent / "reference/experiments-defects.md"


def test_every_reason_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert [reason for reason in Reason if f"`{reason}`" not in text] == []


def test_every_metric_is_in_the_guide() -> None:
    registry = Registry()
    ExperimentMetrics(registry)
    names = re.findall(r"^# TYPE (experiment_\w+)", registry.render().decode(), re.MULTILINE)
    text = (GUIDES / "run-experiments.md").read_text()
    assert len(names) == 6
    assert [name for name in names if f"`{name}" not in text] == []


def test_every_defect_of_the_existing_project_has_a_test_that_exists() -> None:
    rows = [
        line
        for line in DEFECTS.read_text().splitlines()
        if line.startswith("| ") and not line.startswith(("| existing project", "| ---"))
    ]
    assert len(rows) == 28
    for row in rows:
        links = re.findall(r"\[`(test_\w+)`\]\(([\w./-]+\.py)\)", row)
        assert links, row
        for name, path in links:
            text = (DEFECTS.parent / path).resolve().read_text()
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{path}: {name}"
