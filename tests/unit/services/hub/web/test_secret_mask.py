"""Values of Secrets are absent from every form an answer can have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import json
from quarterdeck.services.hub.web.secret_mask import LAST_APPLIED, is_about_secrets, mask
from quarterdeck.wire import path as paths

VALUE = "c2VjcmV0LXZhbHVl"
SECRET = {
    "kind": "Secret",
    "metadata": {"name": "a", "annotations": {LAST_APPLIED: f'{{"data":{{"k":"{VALUE}"}}}}'}},
    "data": {"k": VALUE},
    "stringData": {"k": VALUE},
}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(SECRET, id="one"),
        pytest.param({"kind": "SecretList", "items": [SECRET, SECRET]}, id="a list"),
        pytest.param({"type": "ADDED", "object": SECRET}, id="a watch event"),
        pytest.param({"kind": "Table", "rows": [{"cells": [], "object": SECRET}]}, id="a table"),
    ],
)
def test_values_are_masked(document: dict[str, Any]) -> None:
    masked = mask(json.encode(document))
    assert VALUE.encode() not in masked
    assert b'"k"' in masked or b"rows" in masked


@given(st.dictionaries(st.text(max_size=5), st.text(min_size=24, max_size=40), max_size=5))
def test_keys_stay_and_no_value_does(data: dict[str, str]) -> None:
    masked = json.decode(mask(json.encode({"data": data})))
    assert set(masked["data"]) == set(data)
    assert not set(masked["data"].values()) & set(data.values())


def test_only_secrets_of_the_core_group_are_masked() -> None:
    assert is_about_secrets(paths.parse("/api/v1/namespaces/a/secrets/b"))
    assert is_about_secrets(paths.parse("/api/v1/secrets"))
    assert not is_about_secrets(paths.parse("/api/v1/configmaps"))
    assert not is_about_secrets(None)
