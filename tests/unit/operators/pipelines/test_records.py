"""Records of an inventory as attributes of collectors."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.fleetmanagement.external_sync import AttributeMapping
from quarterdeck.operators.pipelines.external_sync import map_records

MAPPING = msgspec.convert(
    {
        "collectorIDField": "id",
        "attributeFields": {"env": "environment", "spare": "is_spare", "rack": "rack"},
        "requiredKeys": ["env"],
    },
    AttributeMapping,
)


@pytest.mark.parametrize(
    ("record", "attributes"),
    [
        pytest.param(
            {"id": "a", "environment": "prod", "is_spare": True, "rack": 7},
            {"env": "prod", "spare": "true", "rack": "7"},
            id="scalars",
        ),
        pytest.param(
            {"id": "a", "environment": "prod", "is_spare": False, "rack": [1, 2]},
            {"env": "prod", "spare": "false"},
            id="a list is left out",
        ),
        pytest.param(
            {"id": "a", "environment": "x" * 5000}, {"env": "x" * 1024}, id="a long text is cut"
        ),
        pytest.param({"id": "a", "rack": 7}, None, id="a required key is missing"),
        pytest.param({"environment": "prod"}, None, id="no collector"),
        pytest.param({"id": {"a": 1}, "environment": "prod"}, None, id="an object as id"),
    ],
)
def test_records_become_attributes(
    record: dict[str, Any], attributes: dict[str, str] | None
) -> None:
    found = map_records(MAPPING, [record])
    assert {key: dict(each.attributes) for key, each in found.items()} == (
        {"a": attributes} if attributes is not None else {}
    )
