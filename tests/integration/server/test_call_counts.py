"""How many functions a request calls: what time measures, without the noise of the machine.

Processor time follows these numbers, and they do not change from run to run. Raise a limit only for
something that is worth it to every request.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.integration.server.conftest import WIDGETS, Serving

import quarterdeck
from quarterdeck.kit import http

_PACKAGE = str(Path(quarterdeck.__file__).parent)
_WARM, _MEASURED = 40, 5
_PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "maxItems": 16,
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 63},
            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        },
    },
}
_SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 0},
        "text": {"type": "string", "maxLength": 4096},
        "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
        "ports": _PORTS,
    },
    "x-kubernetes-validations": [{"rule": "!has(self.ports) || self.ports.size() <= 8"}],
}


async def count_calls(run: Callable[[int], Awaitable[None]]) -> int:
    """The fewest calls of our functions that one run takes, after some that fill the caches."""
    counts: list[int] = []
    calls = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(_PACKAGE)

    for number in range(_WARM + _MEASURED):
        calls, before = 0, sys.getprofile()
        sys.setprofile(note)
        try:
            await run(number)
        finally:
            sys.setprofile(before)
        counts.append(calls)
    return min(counts[_WARM:])


def build_widget(number: int) -> bytes:
    ports = [{"name": "http", "port": 80}, {"name": "https", "port": 443}]
    value: dict[str, Any] = {
        "apiVersion": "stable.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": f"w{number}", "labels": {"app": "web", "tier": "front"}},
        "spec": {"size": number, "text": "some text", "ports": ports},
    }
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("verb", "limit"),
    [
        pytest.param("create", 205, id="create"),
        pytest.param("get", 48, id="get"),
    ],
)
async def test_a_request_calls_no_more_functions_than_it_did(
    serving: Serving, verb: str, limit: int
) -> None:
    async with serving() as api:
        await api.define_widgets(**_SPEC)
        server = api.cluster.api

        async def run(number: int) -> None:
            headers = [("accept", "application/json"), ("user-agent", "test")]
            if verb == "create":
                request = http.Request.of(
                    "POST", WIDGETS, headers=headers, body=build_widget(number)
                )
            else:
                request = http.Request.of("GET", f"{WIDGETS}/w0", headers=headers)
            response = await server.handle(request)
            assert response.status in (200, 201)

        if verb == "get":
            created = http.Request.of("POST", WIDGETS, body=build_widget(0))
            assert (await server.handle(created)).status == 201
        calls = await count_calls(run)
    assert calls <= limit
