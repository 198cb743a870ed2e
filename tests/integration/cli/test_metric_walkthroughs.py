"""What the guides of existing users do with MetricSources, done with our commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.cli.main import run

PODS = [
    ("prod", "web-0", "Running", 4, "90s"),
    ("prod", "web-1", "Running", 2, "2m"),
    ("dev", "job-0", "Pending", None, "1h"),
]
OBJECTS = "\n---\n".join(
    json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": {"grace": grace}},
            "spec": {"containers": [{"name": "main"}], "used": used, "capacity": 8},
            "status": {"phase": phase},
        }
    )
    for namespace, name, phase, used, grace in PODS
)
FIELDS = """
  - {name: status, path: .status.phase}
  - {name: used, path: .spec.used, type: integer}
  - {name: capacity, path: .spec.capacity, type: integer}
"""


def preview(
    folder: Path, capsys: pytest.CaptureFixture[str], *, more: str = "", fields: str = FIELDS
) -> dict[str, Any]:
    """The preview of a MetricSource about the pods above."""
    (folder / "objects.yaml").write_text(OBJECTS)
    (folder / "source.yaml").write_text(
        "apiVersion: clusterpulse.io/v1alpha1\n"
        "kind: MetricSource\n"
        "metadata: {name: pods}\n"
        "spec:\n"
        "  source: {apiVersion: v1, kind: Pod}\n"
        f"  fields:{fields}{more}"
    )
    given = [str(folder / "source.yaml"), "--objects", str(folder / "objects.yaml")]
    assert run(["metrics", "preview", *given, "-o", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("expression", "kind", "expected"),
    [
        ("capacity - used", "float", [4.0, 6.0, None]),
        ("round((used / capacity) * 100, 2)", "float", [50.0, 25.0, None]),
        ("used ?? 0", "float", [4.0, 2.0, 0.0]),
        ("concat(namespace, '/', name)", "string", ["prod/web-0", "prod/web-1", "dev/job-0"]),
        ("coalesce(used, 0) + coalesce(capacity, 0)", "float", [12.0, 10.0, 8.0]),
        ("percentage(used ?? 0, capacity)", "float", [50.0, 25.0, 0.0]),
    ],
)
def test_expression_patterns_give_what_they_promise(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    expression: str,
    kind: str,
    expected: list[Any],
) -> None:
    more = f'  computed:\n  - {{name: result, type: {kind}, expression: "{expression}"}}\n'
    found = preview(tmp_path, capsys, more=more)
    assert [each["values"]["result"] for each in found["resources"]] == expected


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("{function: count}", 3),
        ("{function: count, filter: {field: status, operator: equals, value: Running}}", 2),
        (
            "{function: sum, field: used, filter: "
            "{field: status, operator: equals, value: Running}}",
            6,
        ),
        ("{function: count, groupBy: namespace}", {"prod": 2, "dev": 1}),
        ("{function: count, groupBy: status}", {"Running": 2, "Pending": 1}),
        ("{function: percentile, field: capacity, percentile: 95}", 8),
        ("{function: median, field: used}", 3),
        ("{function: distinct, field: status}", 2),
    ],
)
def test_aggregation_patterns_give_what_they_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], aggregation: str, expected: Any
) -> None:
    more = f"  aggregations:\n  - {{name: result, {aggregation[1:]}\n"
    assert preview(tmp_path, capsys, more=more)["aggregations"]["result"] == expected


def test_durations_are_whole_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = "\n  - {name: grace, path: .metadata.annotations.grace, type: duration}\n"
    found = preview(tmp_path, capsys, fields=fields)
    assert [each["values"]["grace"] for each in found["resources"]] == [90, 120, 3600]
