"""The web page on the hub's port: its files, its paths, and nothing of the disk."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.integration.services.hub.conftest import World

from quarterdeck.kit.http import Request, Response
from quarterdeck.services.hub.assets import Assets

Make = Callable[[], AbstractAsyncContextManager[World]]
SCRIPT = "/assets/index-B3xYz19Q.js"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    web = tmp_path / "web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html><title>Quarterdeck</title>")
    (web / SCRIPT[1:]).write_text("console.log(1)")
    (tmp_path / "secret.txt").write_text("secret")
    (web / "link.txt").symlink_to(tmp_path / "secret.txt")
    return web


async def fetch(w: World, path: str, method: str = "GET", **headers: str) -> Response:
    request = Request.of(method, path, headers=list(headers.items()))
    answer = await w.hub.handle(request)
    assert isinstance(answer, Response)
    return answer


async def test_the_page_and_its_files_are_served_beside_the_api(world: Make, folder: Path) -> None:
    async with world() as w:
        w.hub = w.server(assets=Assets(folder))
        for path in ("/", "/clusters/prod-east", "/index.html"):
            page = await fetch(w, path)
            headers = dict(page.headers)
            assert page.status == 200 and b"<title>Quarterdeck" in page.body
            assert headers["Content-Type"] == "text/html; charset=utf-8"
            assert headers["Cache-Control"] == "no-cache"
            assert "script-src" not in headers["Content-Security-Policy"]
            assert headers["Content-Security-Policy"].startswith("default-src 'self'")
            assert headers["X-Frame-Options"] == "DENY"
        script = await fetch(w, SCRIPT)
        headers = dict(script.headers)
        assert headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert "immutable" in headers["Cache-Control"]
        again = await fetch(w, SCRIPT, **{"If-None-Match": headers["ETag"]})
        assert (again.status, again.body) == (304, b"")
        assert [name for name, _ in page.headers].count("Content-Security-Policy") == 1


async def test_the_api_answers_as_without_a_page(world: Make, folder: Path) -> None:
    async with world() as w:
        w.hub = w.server(assets=Assets(folder))
        assert (await w.ask("/healthz")).body == {"status": "ok"}
        assert (await w.ask("api:/clusters")).status == 401
        assert len(await w.get("/clusters", "root")) == 3
        missing = await w.ask("api:/nothing", "root")
        assert (missing.status, missing.headers["content-type"]) == (404, "application/json")
        assert "'none'" in missing.headers["content-security-policy"]
        assert (await fetch(w, "/", "POST")).status == 404


@pytest.mark.parametrize(
    "path",
    ["/link.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/no.js"],
)
async def test_nothing_outside_the_folder_can_be_read(world: Make, folder: Path, path: str) -> None:
    async with world() as w:
        w.hub = w.server(assets=Assets(folder))
        answer = await fetch(w, path)
        assert answer.status == 404
        assert b"secret" not in answer.body.replace(path.encode(), b"")


async def test_a_dashboard_that_is_not_built_says_how_to_build_it(
    world: Make, tmp_path: Path
) -> None:
    async with world() as w:
        w.hub = w.server(assets=Assets(tmp_path / "nowhere"))
        reply = await w.ask("/")
        assert reply.status == 404
        assert "make web" in reply.body["error"]
