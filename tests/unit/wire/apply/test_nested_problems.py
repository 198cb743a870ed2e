"""Values that do not fit their type, deep inside an object."""

from typing import Any

import pytest

from quarterdeck.meta.schema import from_openapi
from quarterdeck.wire.apply.schema_type import Type
from quarterdeck.wire.apply.walk import find_problems

DEPTH = 64
"""A walk that looked at each list twice would never end."""
WRONG = "expected string, got &value.valueUnstructured{Value:5}"


@pytest.mark.parametrize(
    ("list_type", "element"), [("atomic", "[0]"), ("map", '[name="x"]')], ids=["atomic", "map"]
)
def test_each_level_of_nested_lists_is_visited_once(list_type: str, element: str) -> None:
    document: dict[str, Any] = {"type": "string"}
    value: Any = 5
    for _ in range(DEPTH):
        properties = {"name": {"type": "string"}, "part": document}
        document = {
            "type": "array",
            "x-kubernetes-list-type": list_type,
            "items": {"type": "object", "properties": properties},
        }
        if list_type == "map":
            document["x-kubernetes-list-map-keys"] = ["name"]
        value = [{"name": "x", "part": value}]
    found = find_problems(value, Type(from_openapi(document)), unique=True)
    assert found == [f"{element}.part" * DEPTH + f": {WRONG}"]
