"""Errors about values of a wrong type speak as Go does, never as the libraries we use."""

import json
from typing import Any

import pytest
from tests.integration.server.conftest import CONFIG_MAPS, WIDGETS, Serving

OURS = ("Expected `", "msgspec", "truncated", "$.", "object | null", "NoneType", "Traceback")
GO = (
    "json: cannot unmarshal",
    "parsing time",
    "cannot restore ",  # these are of the converter, which reads strategic merge patches
    "cannot convert ",
    "unrecognized type: ",
)
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
METADATA: tuple[Any, ...] = (
    {"labels": "x"},
    {"labels": {"a": 1}},
    {"annotations": []},
    {"finalizers": [1]},
    {"name": 1},
    {"ownerReferences": [{"uid": 1}]},
    {"managedFields": "x"},
    {"generation": "x"},
    {"creationTimestamp": 3},
    [],
)


@pytest.mark.parametrize("metadata", METADATA, ids=json.dumps)
async def test_metadata_of_a_wrong_type_is_explained_in_gos_words(
    serving: Serving, metadata: Any
) -> None:
    async with serving() as api:
        await api.define_widgets()
        await api.make("a")
        widget = {"kind": "Widget", "apiVersion": "stable.example.com/v1"}
        await api("POST", WIDGETS, widget | {"metadata": {"name": "a"}})
        wrong = {"name": "a", **metadata} if isinstance(metadata, dict) else metadata
        body = {"metadata": wrong}
        answers = [
            await api("POST", CONFIG_MAPS, body),
            await api("POST", WIDGETS, widget | body),
            await api("PATCH", f"{CONFIG_MAPS}/a", body, media=MERGE),
            await api("PATCH", f"{WIDGETS}/a", body, media=MERGE),
            await api("PATCH", f"{CONFIG_MAPS}/a", body, media=STRATEGIC),
        ]
        for answer in answers:
            assert answer.status in (400, 422), answer
            assert [each for each in GO if each in answer.message], answer.message
            assert not [each for each in OURS if each in answer.message], answer.message


@pytest.mark.parametrize("media", [MERGE, STRATEGIC, JSON_PATCH])
@pytest.mark.parametrize("body", [b"[", b"{", b'{"a":', b"nope", b'"\\x"'])
async def test_patches_that_are_no_json_are_explained(
    serving: Serving, media: str, body: bytes
) -> None:
    async with serving() as api:
        await api.make("a")
        answer = await api("PATCH", f"{CONFIG_MAPS}/a", body, media=media)
        assert answer.status == 400
        assert answer.message.startswith("error decoding patch: ") == (media != STRATEGIC)
        assert not [each for each in OURS if each in answer.message], answer.message


async def test_deletion_options_of_a_wrong_type_are_explained(serving: Serving) -> None:
    async with serving() as api:
        await api.make("a")
        answer = await api("DELETE", f"{CONFIG_MAPS}/a", {"gracePeriodSeconds": "x"})
        assert answer.status == 500
        assert "json: cannot unmarshal string into Go struct field" in answer.message
