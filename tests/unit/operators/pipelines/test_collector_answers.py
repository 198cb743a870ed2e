"""What a server says about collectors is read with distrust, and shown without secrets."""

from typing import Any

import pytest

from quarterdeck.operators.pipelines.drivers.collectors import (
    read_collector,
    read_deliveries,
    read_states,
)
from quarterdeck.operators.pipelines.ports import CallFailed

TOKEN = "Bearer abcdefghijklmnopqrstuvwxyz0123456789"


def test_reports_are_read_by_pipeline_and_text() -> None:
    part = {"digest": "d", "assigned": 3, "applied": 1, "failed": 1, "failures": ["edge-1: bad"]}
    found = read_deliveries(
        {"pipelines": [{"id": "7", "parts": [part], "conflicts": ["b"]}], "canRollOut": True}
    )
    assert found.can_roll_out
    assert found.pipelines["7"].conflicts == ("b",)
    assert found.pipelines["7"].get("d").failures == ("edge-1: bad",)
    assert found.pipelines["7"].get("other").assigned == 0


def test_failures_are_shown_without_secrets() -> None:
    part = {"digest": "d", "failures": [f"edge-1: header {TOKEN} refused"]}
    found = read_deliveries({"pipelines": [{"id": "7", "parts": [part]}]})
    assert "abcdefghijkl" not in str(found)
    states = read_states({"collectors": [{"id": "a", "errorMessage": f"got {TOKEN}"}]})
    assert "abcdefghijkl" not in str(states)


@pytest.mark.parametrize(
    "entry",
    [
        {"parts": "x"},
        {"parts": [{"assigned": -1}]},
        {"parts": [{"applied": "many"}]},
        {"parts": [{"failed": True}]},
        {"parts": [{"failures": "text"}]},
        {"conflicts": 7},
        {"id": 7},
    ],
)
def test_reports_of_another_shape_are_errors(entry: dict[str, Any]) -> None:
    with pytest.raises(CallFailed):
        read_deliveries({"pipelines": [entry]})


@pytest.mark.parametrize(
    "message", [7, {}, {"id": ""}, {"id": "x" * 300}, {"id": "a", "localAttributes": {"k": 1}}]
)
def test_collectors_of_another_shape_are_errors(message: object) -> None:
    with pytest.raises(CallFailed):
        read_collector(message)


def test_numbers_of_types_and_old_names_of_attributes_are_understood() -> None:
    found = read_collector({"id": "a", "collectorType": 2, "attributes": {"env": "prod"}})
    assert found.is_otel and dict(found.local) == {"env": "prod"} and found.enabled
