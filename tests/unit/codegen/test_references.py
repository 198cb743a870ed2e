"""Pages that are generated from code: what is declared stands on them, with its meaning."""

import re
from pathlib import Path

import pytest

from quarterdeck.codegen import conditions, environment, events, python_api
from quarterdeck.operators.applications.conditions import Reason as ApplicationReason
from quarterdeck.operators.clusters.conditions import Reason as ClusterReason
from quarterdeck.operators.experiments.conditions import EventReason
from quarterdeck.operators.experiments.conditions import Reason as ExperimentReason
from quarterdeck.operators.machines.conditions import Reason as MachineReason
from quarterdeck.operators.pipelines.conditions import Reason as PipelineReason

TYPES = ("Normal", "Warning", "Normal, Warning")
REASONS = (ApplicationReason, ClusterReason, ExperimentReason, MachineReason, PipelineReason)


def test_every_reason_is_listed_and_no_row_is_without_a_meaning() -> None:
    [page] = conditions.build_files()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page.text, flags=re.M))
    assert [name for name, meaning in rows.items() if not meaning.strip()] == []
    declared = {str(reason) for reasons in REASONS for reason in reasons}
    assert [name for name in sorted(declared) if f"`{name}`" not in page.text] == []


def test_every_event_is_listed_with_what_happened() -> None:
    [page] = events.build_files()
    rows = re.findall(r"^\| `(\S+)` \| (.*) \| (.*) \|$", page.text, flags=re.M)
    listed = {name for name, _, _ in rows}
    assert {str(reason) for reason in EventReason} <= listed
    assert {"ScaledUp", "Orphaned", "FailedScheduling", "BackOff"} <= listed
    assert [row for row in rows if row[1] not in TYPES or not row[2]] == []


def test_reasons_of_events_are_found_however_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "conditions.py").write_text(
        'class Reason(enum.StrEnum):\n    GONE = "Gone"\n    """It went."""\n'
    )
    (tmp_path / "reconcile.py").write_text(
        "def reconcile(run):\n"
        '    run.ctx.event(Reason.GONE, "x", warning=True)\n'
        "def other(ctx, reason):\n"
        "    text = f'took {seconds} s'\n"
        "    ctx.event('Slow', text, warning=seconds > 5)\n"
        "    ctx.event(reason, text)\n"
    )
    assert [*events.list_operator_events(tmp_path)] == [
        ("Gone", "Warning", "It went."),
        ("Slow", "Normal, Warning", "took … s"),
    ]


@pytest.mark.parametrize(
    "name", ["LOG_LEVEL", "METRICS_BIND_ADDRESS", "REDIS_HOST", "INGESTER_PORT", "LEASE_NAME"]
)
def test_variables_of_the_originals_are_listed(name: str) -> None:
    [page] = environment.build_files()
    assert f"`{name}`" in page.text


@pytest.mark.parametrize(
    "heading", ["### Manager", "### Controller", "### Context", "## quarterdeck.testing"]
)
def test_what_faces_export_is_listed(heading: str) -> None:
    [page] = python_api.build_files()
    assert f"\n{heading}\n" in page.text


def test_every_exported_definition_has_a_text() -> None:
    [page] = python_api.build_files()
    parts = re.split(r"^### ", page.text, flags=re.M)[1:]
    empty = [part.split("\n", 1)[0] for part in parts if not part.partition("```\n\n")[2].strip()]
    assert empty == []
