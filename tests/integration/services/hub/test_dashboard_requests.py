"""What the dashboard answers to each kind of request, before a small Kubernetes API."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import Key
from quarterdeck.services.hub.routes import STREAM
from quarterdeck.services.hub.web.comparisons import Comparisons
from quarterdeck.services.hub.web.consoles import ConsoleMissing, Consoles, Locate
from quarterdeck.services.hub.web.dashboard import Dashboard
from quarterdeck.services.hub.web.explanations import Explanations
from quarterdeck.services.hub.web.sessions import Sessions
from quarterdeck.services.hub.web.viewer import Transports
from quarterdeck.services.hub.web.watches import Watches

HOST = ("host", "127.0.0.1:8088")
JSON = ("content-type", "application/json")
CLAIM = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/machineclaims/one"
LOG = "/k8s/api/v1/namespaces/default/pods/web/log"


async def answer_hub(request: http.Request) -> http.Response | http.StreamResponse:
    """The hub API: it knows the token `good`, and a proxy that names a user."""
    token = (request.headers.get("authorization") or "").removeprefix("Bearer ")
    name = "ann" if token == "good" else request.headers.get("x-forwarded-user") or ""
    if "untold" in (token, name):  # TokenReview or the directory of groups does not answer
        return http.Response(503, [], b'{"error": "the API server does not answer"}')
    if not name:
        return http.Response(401, [], b"{}")
    if request.path == STREAM:

        async def run(writer: http.BodyWriter) -> None:
            await writer.write(f"event: hub\ndata: {name}\n\n".encode())

        return http.StreamResponse(200, [], run)
    body = {"username": name, "groups": [], "path": request.path, "token": token}
    return http.Response(200, [], json.encode(body))


class Api:
    """A Kubernetes API with one claim, whose console may be read or not, and one log."""

    def __init__(self) -> None:
        self.is_allowed = True
        self.server = http.Server(self.handle)

    async def handle(self, request: http.Request) -> http.Response | http.StreamResponse:
        if request.path.endswith("/selfsubjectaccessreviews"):
            review = {"status": {"allowed": self.is_allowed}}
            return http.Response(201, [JSON], json.encode(review))
        if request.path.endswith("/log"):
            return http.StreamResponse(200, [("content-type", "text/plain")], self._write_log)
        if request.path == CLAIM:
            return http.Response(200, [JSON], json.encode({"kind": "MachineClaim"}))
        body = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no such object"}
        return http.Response(404, [JSON], json.encode(body))

    async def _write_log(self, writer: http.BodyWriter) -> None:
        await writer.write(b"one\n")
        await writer.write(b"two\n")


class World:
    """A dashboard and the API behind it."""

    def __init__(self, api: Api, dashboard: Dashboard, sessions: Sessions) -> None:
        self.api, self.dashboard, self.sessions = api, dashboard, sessions
        self.headers: list[tuple[str, str]] = [HOST]

    def log_in(self) -> None:
        cookie = f"quarterdeck-8088={self.sessions.open('good', user='ann')}"
        self.headers = [HOST, ("cookie", cookie)]

    async def ask(
        self, method: str, target: str, *headers: tuple[str, str], body: bytes = b""
    ) -> http.Response:
        asked = http.Request.of(method, target, headers=[*self.headers, *headers], body=body)
        answer = await self.dashboard.handle(asked)
        assert isinstance(answer, http.Response)
        return answer

    async def read_message(self, method: str, target: str) -> tuple[int, str]:
        answer = await self.ask(method, target)
        return answer.status, json.decode(answer.body)["message"]


@asynccontextmanager
async def serve(
    locate: Locate | None = None, *, links: bool = False, is_api_away: bool = False
) -> AsyncIterator[World]:
    api = Api()
    async with api.server:
        listener = await api.server.listen("127.0.0.1", 0)
        with socket.socket() as bound:  # nobody listens here: connections are refused
            bound.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{bound.getsockname()[1]}" if is_api_away else listener.url
            async with _build_world(api, url, locate, links=links) as world:
                yield world


@asynccontextmanager
async def _build_world(
    api: Api, url: str, locate: Locate | None, *, links: bool
) -> AsyncIterator[World]:
    clock = SystemClock()
    transports = Transports(ClusterConfig(server=url), clock=clock)
    sessions = Sessions(clock=clock, links={"code": "good"} if links else {})
    dashboard = Dashboard(
        answer_hub,
        sessions=sessions,
        transports=transports,
        consoles=Consoles(transports, locate, clock=clock),
        comparisons=Comparisons(transports, lambda _a, _b: []),
        explanations=Explanations(transports, None),
        watches=Watches(transports, clock=clock),
        hint="run quarterdeck token",
    )
    yield World(api, dashboard, sessions)
    await dashboard.aclose()


def _get_header(answer: http.Response, name: str) -> str:
    return dict(answer.headers).get(name, "")


async def test_a_link_is_used_up_by_get_only() -> None:
    async with serve(links=True) as world:
        head = await world.ask("HEAD", "/login?code=code")
        assert (head.status, _get_header(head, "Allow")) == (405, "GET")
        first = await world.ask("GET", "/login?code=code")
        assert (first.status, _get_header(first, "Location")) == (303, "/")
        assert _get_header(first, "Set-Cookie").startswith("quarterdeck-8088=")
        again = await world.ask("GET", "/login?code=code")
        assert _get_header(again, "Location") == "/?login=used"
        assert _get_header(again, "Set-Cookie") == ""


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        pytest.param("text/plain", b'{"token": "good"}', "send the token as JSON", id="no JSON"),
        pytest.param("application/json", b"{", "send the token as JSON", id="broken"),
        pytest.param("application/json", b"[]", "send the token as JSON", id="a list"),
        pytest.param("application/json", b'{"token": 1}', "must be text", id="a number"),
        pytest.param("application/json", '{"token": "ü"}'.encode(), "must be text", id="not ASCII"),
    ],
)
async def test_a_login_takes_a_token_as_json(kind: str, body: bytes, message: str) -> None:
    async with serve() as world:
        answer = await world.ask("POST", "/session", ("content-type", kind), body=body)
    assert answer.status == 400
    assert message in json.decode(answer.body)["message"]


@pytest.mark.parametrize("token", ["", " ", "bad"])
async def test_a_wrong_token_is_answered_with_a_hint(token: str) -> None:
    async with serve() as world:
        answer = await world.ask("POST", "/session", JSON, body=json.encode({"token": token}))
    assert answer.status == 401
    expected = {"error": "the token is not valid", "hint": "run quarterdeck token"}
    assert json.decode(answer.body) == expected


async def test_an_identity_that_cannot_be_checked_now_is_not_called_wrong() -> None:
    async with serve() as world:
        tried = await world.ask("POST", "/session", JSON, body=b'{"token": "untold"}')
        assert tried.status == 503
        cookie = f"quarterdeck-8088={world.sessions.open('untold', user='ann')}"
        for identity in (("cookie", cookie), ("x-forwarded-user", "untold")):
            world.headers = [HOST, identity]
            status, message = await world.read_message("GET", "/session")
            assert (status, message) == (
                503,
                "cannot find out who is logged in; try again later",
            )


async def test_a_session_begins_with_a_token_and_ends_with_delete() -> None:
    async with serve() as world:
        opened = await world.ask("POST", "/session", JSON, body=b'{"token": " good "}')
        assert json.decode(opened.body) == {"username": "ann"}
        cookie = _get_header(opened, "Set-Cookie").partition(";")[0]
        world.headers = [HOST, ("cookie", cookie)]
        shown = json.decode((await world.ask("GET", "/session")).body)
        assert (shown["username"], shown["canLogOut"]) == ("ann", True)
        refused = await world.ask("DELETE", "/session")
        assert refused.status == 403
        closed = await world.ask("DELETE", "/session", ("x-csrf-token", shown["csrf"]))
        assert closed.status == 200
        assert (await world.ask("GET", "/session")).status == 401
        other = await world.ask("PUT", "/session")
        assert (other.status, _get_header(other, "Allow")) == (405, "GET, POST, DELETE")


async def test_a_user_of_a_proxy_has_no_session_to_close() -> None:
    async with serve() as world:
        world.headers = [HOST, ("x-forwarded-user", "bob")]
        shown = json.decode((await world.ask("GET", "/session")).body)
        assert (shown["username"], shown["canLogOut"]) == ("bob", False)
        closed = await world.ask("DELETE", "/session", ("x-csrf-token", shown["csrf"]))
        assert closed.status == 200
        assert (await world.ask("GET", "/session")).status == 200


async def test_the_hub_api_is_asked_with_the_token_of_a_session_or_as_it_came() -> None:
    async with serve() as world:
        world.headers = [HOST, ("x-forwarded-user", "bob")]
        plain = json.decode((await world.ask("GET", "/api/v1/clusters")).body)
        assert (plain["username"], plain["token"]) == ("bob", "")
        world.log_in()
        asked = json.decode((await world.ask("GET", "/api/v1/clusters")).body)
        assert (asked["username"], asked["token"]) == ("ann", "good")
        assert asked["path"] == "/api/v1/clusters"


@pytest.mark.parametrize("user", ["ann", "bob"])
async def test_the_events_of_the_hub_are_those_of_the_viewer_and_their_end_is_sent(
    user: str,
) -> None:
    async with (
        serve() as world,
        http.Client() as client,
        http.Server(world.dashboard.handle) as server,
    ):
        listener = await server.listen("127.0.0.1", 0)
        port = listener.url.rpartition(":")[2]
        cookie = f"quarterdeck-{port}={world.sessions.open('good', user='ann')}"
        header = ("cookie", cookie) if user == "ann" else ("x-forwarded-user", user)
        answer = await client.request("GET", f"{listener.url}/watch?hub=1", headers=[header])
        async with answer:
            received = b""
            async for chunk in answer.chunks():
                received += chunk
                if b"event: end" in received:
                    break
    expected = f'event: hub\ndata: {user}\n\nevent: end\ndata: {{"w":"hub"}}\n\n'
    assert received.endswith(expected.encode())


async def test_the_page_asks_again_for_events_that_the_hub_cannot_send_now() -> None:
    async with (
        serve() as world,
        http.Client() as client,
        http.Server(world.dashboard.handle) as server,
    ):
        listener = await server.listen("127.0.0.1", 0)
        port = listener.url.rpartition(":")[2]
        cookie = f"quarterdeck-{port}={world.sessions.open('untold', user='ann')}"
        url = f"{listener.url}/watch?hub=1"
        async with asyncio.timeout(5.0):
            answer = await client.request("GET", url, headers=[("cookie", cookie)])
            async with answer:
                received = b""
                async for chunk in answer.chunks():
                    received += chunk
                    if b"event: end" in received:
                        break
    assert received.endswith(b'event: end\ndata: {"w":"hub"}\n\n')


@pytest.mark.parametrize("path", ["/why", "/console", "/comparison", "/watch", "/k8s/api/v1/pods"])
async def test_nobody_sees_objects_without_a_login(path: str) -> None:
    async with serve() as world:
        assert await world.read_message("GET", path) == (
            401,
            "not logged in; open the dashboard and log in",
        )


async def test_a_page_of_another_site_may_open_the_dashboard_and_ask_nothing() -> None:
    foreign = ("sec-fetch-site", "cross-site")
    async with serve() as world:
        opened = await world.ask("GET", "/", foreign, ("sec-fetch-mode", "navigate"))
        assert (opened.status, _get_header(opened, "X-Frame-Options")) == (200, "DENY")
        asked = await world.ask("GET", "/session", foreign, ("sec-fetch-mode", "cors"))
        assert asked.status == 403
        message = json.decode(asked.body)["message"]
        assert message == (
            'the dashboard refuses requests of other sites (Sec-Fetch-Site "cross-site")'
        )
        posted = await world.ask("POST", "/")
        assert (posted.status, _get_header(posted, "Allow")) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("method", "target", "message"),
    [
        ("GET", "/metrics", "passes on requests below /api, /apis, /openapi, /version only"),
        ("TRACE", "/api/v1/pods", "method TRACE is not passed on"),
        ("GET", "/api/v1/namespaces/a/pods/web/exec", "does not pass on exec; use kubectl"),
        ("GET", "/api/v1/namespaces/a/services/web/proxy/x", "does not pass on proxy; use kubectl"),
        ("GET", "/api/v1/pods?watch=1", "watches go through /watch"),
        ("GET", "/api/v1/pods?watch", "watches go through /watch"),
        ("GET", "/api/v1/pods?limit=1&watch=", "watches go through /watch"),
        ("GET", "/api/v1/watch/pods", "watches go through /watch"),
        ("GET", "/api/v1/./secrets", "paths with //, /./ or /../"),
        ("GET", "/api/v1/pods/%2E%2e/secrets", "paths with //, /./ or /../"),
        ("GET", "//api/v1/secrets", "paths with //, /./ or /../"),
    ],
)
async def test_what_is_no_reading_or_writing_of_objects_is_not_passed_on(
    method: str, target: str, message: str
) -> None:
    async with serve() as world:
        world.log_in()
        session = world.sessions.find(http.Request.of("GET", "/", headers=world.headers))
        assert session is not None
        answer = await world.ask(method, f"/k8s{target}", ("x-csrf-token", session.csrf))
    assert answer.status == 403
    assert message in json.decode(answer.body)["message"]


async def test_a_log_is_passed_on_as_it_is_written() -> None:
    async with serve() as world, http.Client() as client:
        world.headers = [HOST, ("x-forwarded-user", "bob")]
        async with http.Server(world.dashboard.handle) as server:
            listener = await server.listen("127.0.0.1", 0)
            headers = [("x-forwarded-user", "bob")]
            answer = await client.request("GET", listener.url + LOG, headers=headers)
            assert (answer.status, await answer.read()) == (200, b"one\ntwo\n")


async def test_an_answer_of_the_api_and_its_silence_are_told_apart() -> None:
    async with serve() as world:
        world.log_in()
        assert await world.read_message("GET", "/k8s/api/v1/namespaces/none") == (
            404,
            "no such object",
        )
    async with serve(is_api_away=True) as world:
        world.log_in()
        status, message = await world.read_message("GET", "/k8s/api/v1/namespaces/none")
        assert (status, "refused" in message) == (503, True)


@pytest.mark.parametrize("path", ["", "/api/v1/namespaces", "/api/v1/namespaces/a/pods/b/log"])
async def test_why_needs_the_path_of_one_object(path: str) -> None:
    async with serve() as world:
        world.log_in()
        status, message = await world.read_message("GET", f"/why?path={path}")
    assert (status, message) == (
        400,
        "path must name one object, such as /api/v1/namespaces/a",
    )


async def test_why_names_the_command_where_the_operators_cannot_be_asked() -> None:
    async with serve() as world:
        world.log_in()
        answer = await world.ask("GET", f"/why?path={CLAIM}")
    shown = json.decode(answer.body)
    assert (answer.status, shown["controllers"]) == (200, [])
    assert "set OPERATORS_URL, or use `quarterdeck why`" in shown["message"]


async def test_a_comparison_needs_two_experiments() -> None:
    async with serve() as world:
        world.log_in()
        status, message = await world.read_message("GET", f"/comparison?a={CLAIM}&b=")
    assert status == 400
    assert message.startswith("a and b must each name one experiment")


@pytest.mark.parametrize("path", ["", "/api/v1/namespaces/a", CLAIM.rpartition("/")[0]])
async def test_a_console_is_of_one_claim(path: str) -> None:
    async with serve() as world:
        world.log_in()
        answer = await world.read_message("GET", f"/console?path={path}")
    assert answer == (400, "path must name one MachineClaim")


async def test_a_console_takes_a_right_of_its_own() -> None:
    async with serve() as world:
        world.log_in()
        world.api.is_allowed = False
        status, message = await world.read_message("GET", f"/console?path={CLAIM}")
    assert status == 403
    assert "get on machineclaims/console" in message


async def test_a_console_elsewhere_is_named_and_a_missing_one_explained() -> None:
    async def locate(claim: Key) -> Path | str:
        return f"https://pve.example/{claim.name}"

    async def miss(claim: Key) -> Path | str:
        raise ConsoleMissing(f"machine {claim.name} has no console")

    async with serve(locate) as world:
        world.log_in()
        answer = await world.ask("GET", f"/console?path={CLAIM}")
        assert json.decode(answer.body) == {"url": "https://pve.example/one"}
    async with serve(miss) as world:
        world.log_in()
        found = await world.read_message("GET", f"/console?path={CLAIM}")
        assert found == (404, "machine one has no console")
    async with serve(None) as world:
        world.log_in()
        status, message = await world.read_message("GET", f"/console?path={CLAIM}")
        assert (status, message.rpartition(": ")[2]) == (404, "use `quarterdeck machines console`")


async def test_the_console_is_not_shown_while_the_api_is_away() -> None:
    async with serve(is_api_away=True) as world:
        world.log_in()
        status, _ = await world.read_message("GET", f"/console?path={CLAIM}")
    assert status == 503


async def test_connections_of_viewers_beyond_the_most_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quarterdeck.services.hub.web.viewer.MAX_TRANSPORTS", 1)
    async with serve() as world:
        used: list[Any] = []
        for user in ("ann", "bob", "ann"):
            world.headers = [HOST, ("x-forwarded-user", user)]
            answer = await world.ask("GET", f"/k8s{CLAIM}")
            used.append(msgspec.json.decode(answer.body))
        assert used == [{"kind": "MachineClaim"}] * 3, "a viewer who comes back is served again"
