"""The health port: probes for everybody, pages about objects for this machine alone."""

from typing import Any

import pytest

from quarterdeck.kit.http import Peer, Request, Response
from quarterdeck.runtime.endpoints import health
from quarterdeck.runtime.endpoints.health import HealthPages, ping

LOCAL = "127.0.0.1:4711"


async def ask(path: str, *, peer: str = LOCAL, **headers: str) -> int:
    pages = HealthPages(
        live={"ping": ping}, ready={"ping": ping}, journals=lambda: (), state=_no_state
    )
    given = [(name.replace("_", "-"), value) for name, value in headers.items()]
    request = Request.of("GET", path, headers=given, peer=Peer(peer))
    return (await pages.handle(request)).status


def _no_state() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("path", ["/explain", "/debug/state", "/loglevel"])
async def test_web_pages_and_other_machines_read_nothing(path: str) -> None:
    assert await ask(path, Host="127.0.0.1:8081") != 403
    assert await ask(path, Host="rebound.example.com:8081") == 403
    assert await ask(path, Host="127.0.0.1:8081", Origin="https://evil.example.com") == 403
    assert await ask(path, Host="127.0.0.1:8081", Sec_Fetch_Site="cross-site") == 403
    assert await ask(path, Host="127.0.0.1:8081", peer="10.0.0.1:4711") == 403


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_are_for_everybody(path: str) -> None:
    assert await ask(path, Host="10.244.0.7:8081", peer="10.244.0.1:4711") == 200


def test_health_answers_by_check_and_exclusion() -> None:
    def boom() -> str:
        raise RuntimeError("no")

    checks = {"ping": health.ping, "boom": boom}
    answer: Response = health.run_checks("healthz", checks, "/healthz", "")
    assert answer.status == 500
    assert b"[-]boom failed: RuntimeError: no" in answer.body
    assert health.run_checks("healthz", checks, "/healthz", "exclude=boom").status == 200
    assert health.run_checks("healthz", checks, "/healthz/ping", "").body == b"ok"
