"""The health port: probes for everybody, pages about objects for this machine alone."""

import logging as standard_logging
from collections.abc import Iterator
from typing import Any

import pytest

from quarterdeck.kit import json
from quarterdeck.kit.http import Peer, Request, Response
from quarterdeck.runtime.endpoints import health
from quarterdeck.runtime.endpoints.health import HealthEndpoints, ping
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.reconcile.journal import Journal

LOCAL = "127.0.0.1:4711"


async def ask(path: str, *, peer: str = LOCAL, **headers: str) -> int:
    pages = HealthEndpoints(
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
    unknown = health.run_checks("healthz", checks, "/healthz/pong", "")
    assert unknown.status == 404
    assert unknown.body == b"check 'pong' not found; checks of healthz: ping, boom\n"


@pytest.fixture
def level() -> Iterator[None]:
    root = standard_logging.getLogger(logging.ROOT)
    before = root.level
    yield
    root.setLevel(before)


@pytest.mark.usefixtures("level")
async def test_the_log_level_is_read_and_changed_while_running() -> None:
    assert await request_level("PUT", "level=debug") == (200, "debug\n")
    assert await request_level("GET") == (200, "debug\n")
    status, text = await request_level("PUT", "level=loud")
    assert status == 400
    assert "invalid LOG_LEVEL 'loud': must be one of" in text
    assert await request_level("POST", "level=info") == (
        405,
        "method not allowed: use GET or PUT\n",
    )
    assert await request_level("GET") == (200, "debug\n")


async def request_level(method: str, query: str = "") -> tuple[int, str]:
    pages = HealthEndpoints(live={}, ready={}, journals=lambda: (), state=_no_state)
    path = f"/loglevel?{query}" if query else "/loglevel"
    request = Request.of(method, path, headers=[("Host", "127.0.0.1")], peer=Peer(LOCAL))
    answer = await pages.handle(request)
    return answer.status, answer.body.decode()


def test_explain_finds_cluster_scoped_objects_and_names_the_kinds_it_knows() -> None:
    journal = Journal("node", "Node", group="", other_names=("nodes", "no"))
    pages = HealthEndpoints(live={}, ready={}, journals=lambda: [journal], state=_no_state)
    found = pages.explain("/explain/no/n1")
    assert found.status == 200
    assert json.decode(found.body)["controllers"][0]["controller"] == "node"
    unknown = pages.explain("/explain/pods/default/a")
    assert unknown.status == 404
    assert b"no controller reconciles this kind; kinds: Node" in unknown.body
    assert pages.explain("/explain/a/b/c/d").status == 404
    everything = json.decode(pages.explain("/explain").body)
    assert everything["controllers"] == [{"controller": "node", "kind": "Node", "recent": []}]


async def test_an_unknown_page_names_those_that_exist() -> None:
    for path in ("/", "/debug/other", "/metrics"):
        assert await ask(path, Host="127.0.0.1:8081") == 404
