"""The pages about pipelines say what the code does."""

import re
from pathlib import Path

from quarterdeck.kit import yaml
from quarterdeck.kit.metrics import Registry
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.lint import lint
from quarterdeck.operators.pipelines.metrics import FleetMetrics

DOCS = Path(__file__).parents[4] / "docs"
EVENTS_ONLY = {
    *("DRIFTED", "IN_SYNC", "VALID", "CREATED", "UPDATED", "ADOPTED", "RENAMED", "RECREATED"),
    *("CORRECTED", "DELETED", "ORPHANED", "CONNECTED"),
}
"""Reasons that never stand in a Pipeline's Ready condition."""


def test_every_reason_has_its_row_and_every_row_its_reason() -> None:
    page = (DOCS / "how-to/troubleshoot-pipelines.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert rows == {reason.value for reason in Reason if reason.name not in EVENTS_ONLY}


def test_the_metrics_that_are_named_exist() -> None:
    page = (DOCS / "how-to/troubleshoot-pipelines.md").read_text()
    registry = Registry()
    FleetMetrics(registry)
    known = registry.render().decode()
    for name in re.findall(r"`(fleet_\w+)`", page):
        assert f"# TYPE {name} " in known


def test_the_tutorials_pipeline_is_valid() -> None:
    page = (DOCS / "tutorial/first-pipeline.md").read_text()
    documents = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [yaml.load(each)["kind"] for each in documents] == ["Pipeline", "FleetConnection"]
    assert lint("scrape.yaml", documents[0].encode()).problems == []
