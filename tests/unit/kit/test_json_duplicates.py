"""Keys that come twice in JSON."""

import pytest

from quarterdeck.kit import json as kit_json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":{"b":1},"a":{"c":2}}', {"a": {"b": 1, "c": 2}}),
        ('{"a":{"b":{"x":1}},"a":{"b":{"y":2}}}', {"a": {"b": {"x": 1, "y": 2}}}),
        ('{"a":{"b":1},"a":null}', {"a": None}),
        ('{"a":[1,2],"a":[3]}', {"a": [3]}),
        ('{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_objects_of_one_key_are_merged_and_the_rest_is_replaced(
    text: str, expected: object
) -> None:
    assert kit_json.decode_merged(text) == expected


def test_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(kit_json.JsonError):
        kit_json.decode_merged("{")
