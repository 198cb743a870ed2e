"""The handler of the hub's port: the page, its session, and the API of the page.

    /login?code=…   redeems a one-time link             /k8s/…      the Kubernetes API
    /login/…        logs in through an OpenID issuer
    /session        GET who, POST log in, DELETE out    /watch      watches and events, one stream
    /api/v1/…       the hub API                         /why        reconciles of one object
    everything else the page                            /console    console of one machine
                                                        /comparison metrics of two experiments

The hub API stays open to programs with a bearer token; a session adds a way in for browsers.
"""

import hashlib
import hmac
import secrets
from typing import Any
from urllib.parse import parse_qs

from quarterdeck.kit import json
from quarterdeck.kit.http import (
    BodyWriter,
    Handler,
    Headers,
    Request,
    Response,
    StreamResponse,
)
from quarterdeck.services.hub import routes
from quarterdeck.services.hub.web import (
    comparisons,
    consoles,
    guard,
    kube_proxy,
    oidc_login,
    watches,
)
from quarterdeck.services.hub.web.assets import SECURITY, Assets
from quarterdeck.services.hub.web.comparisons import Comparisons
from quarterdeck.services.hub.web.consoles import Consoles
from quarterdeck.services.hub.web.explanations import PATH as WHY
from quarterdeck.services.hub.web.explanations import Explanations
from quarterdeck.services.hub.web.kube_proxy import KubeProxy, fail
from quarterdeck.services.hub.web.oidc_login import OidcLogin
from quarterdeck.services.hub.web.requests import copy_request
from quarterdeck.services.hub.web.sessions import Session, Sessions
from quarterdeck.services.hub.web.stream_limit import StreamLimit
from quarterdeck.services.hub.web.viewer import IsValid, Transports, Viewer
from quarterdeck.services.hub.web.watches import Watches
from quarterdeck.wire.status import (
    ApiError,
    BadRequest,
    Forbidden,
    ServiceUnavailable,
    Unauthorized,
)

Answer = Response | StreamResponse
SESSION = "/session"
MAX_BODY = 64 * 1024
_HUB = ("/api/v1", "/healthz", "/readyz")
_ME = f"{routes.API}/auth/me"
_NO_STORE = ("Cache-Control", "no-store")


class Dashboard:
    """Answers requests to the hub's port."""

    def __init__(
        self,
        hub: Handler,
        *,
        sessions: Sessions,
        transports: Transports,
        explanations: Explanations,
        consoles: Consoles,
        comparisons: Comparisons,
        watches: Watches,
        assets: Assets | None = None,
        is_loopback: bool = True,
        hint: str = "",
        oidc: OidcLogin | None = None,
    ) -> None:
        """`hub` answers the hub API; `hint` describes where to find a token."""
        self._hub = hub
        self._sessions = sessions
        self._transports = transports
        self._proxy = KubeProxy(transports)
        self._explanations = explanations
        self._consoles = consoles
        self._comparisons = comparisons
        self._watches = watches
        self.streams = StreamLimit()
        """The streams that are open now."""
        self._assets = assets or Assets()
        self._is_loopback = is_loopback
        self._hint = hint
        self._oidc = oidc
        self._key = secrets.token_bytes(32)

    async def aclose(self) -> None:
        """Close the connections of every viewer."""
        await self._transports.aclose()

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        path = request.path
        if _is_below(path, _HUB) and not self._needs_session(request):
            return await self._hub(request)
        try:
            self._check_site(request)
            if _is_below(path, _HUB):
                return await self._call_hub(request)
            match path:
                case "/login":
                    return self._redeem(request)
                case oidc_login.BEGIN if self._oidc is not None:
                    return await self._oidc.begin(request)
                case oidc_login.CALLBACK if self._oidc is not None:
                    return await self._oidc.finish(request)
                case "/session":
                    return await self._answer_session(request)
                case watches.PATH:
                    return await self._open_watches(request)
                case _ if path == WHY:
                    return await self._explanations.handle(request, await self._require(request))
                case consoles.PATH:
                    viewer = await self._require(request)
                    self.streams.check(viewer)
                    is_valid = self._build_check(request, viewer)
                    answer = await self._consoles.handle(request, viewer, is_valid=is_valid)
                    return self.streams.hold(viewer, answer)
                case comparisons.PATH:
                    return await self._comparisons.handle(request, await self._require(request))
                case _ if path.startswith(f"{kube_proxy.PREFIX}/"):
                    viewer = await self._require(request)
                    if kube_proxy.may_be_endless(request):
                        self.streams.check(viewer)
                    return self.streams.hold(viewer, await self._proxy.handle(request, viewer))
                case _:
                    return self._assets.answer(request)
        except ApiError as error:
            return fail(error)

    def _needs_session(self, request: Request) -> bool:
        """Whether a request to the hub API uses a session instead of a token."""
        return "authorization" not in request.headers and bool(self._sessions.find(request))

    def _check_site(self, request: Request) -> None:
        header = guard.find_foreign_site(request, is_loopback=self._is_loopback)
        if header and not (guard.is_navigation(request) and not header.startswith("Host ")):
            raise Forbidden(f"the dashboard refuses requests of other sites ({header})")

    async def _require(self, request: Request) -> Viewer:
        """The viewer of a request, who must be logged in.

        Raises:
            Unauthorized: without a login.
            Forbidden: if the request changes something and lacks the token of its session.
        """
        viewer = await self._find_viewer(request)
        if viewer is None:
            raise Unauthorized("not logged in; open the dashboard and log in")
        if guard.is_missing_csrf_token(request, viewer.csrf):
            raise Forbidden(f"{guard.CSRF_HEADER} is missing or wrong; load the page again")
        return viewer

    async def _find_viewer(self, request: Request) -> Viewer | None:
        session = self._sessions.find(request)
        if session is not None:
            return _view_session(session)
        me = await self._find_user(request)
        if me is None or not me["username"]:
            return None
        identity = json.encode([me["username"], me["groups"]])
        mark = hmac.new(self._key, identity, hashlib.sha256).hexdigest()
        return Viewer(
            identifier=mark[:32],
            csrf=mark[32:],
            user=me["username"],
            groups=tuple(me["groups"]),
        )

    async def _find_user(self, request: Request, token: str = "") -> dict[str, Any] | None:
        """Ask the hub for the user of a token or of a trusted proxy's headers; None if unknown.

        Raises:
            ServiceUnavailable: if the hub cannot tell now, which is no reason to log in again.
        """
        headers = [each for each in request.headers.items() if each[0] != "authorization"]
        if token:
            headers.append(("authorization", f"Bearer {token}"))
        asked = Request.of("GET", _ME, headers=headers, peer=request.peer)
        answer = await self._hub(asked)
        if answer.status >= 500:
            raise ServiceUnavailable("cannot find out who is logged in; try again later")
        if answer.status != 200 or not isinstance(answer, Response):
            return None
        found: dict[str, Any] = json.decode(answer.body)
        return None if found.get("username") == "system:anonymous" else found

    async def _call_hub(self, request: Request) -> Answer:
        """Call the hub API with the token of the session."""
        viewer = await self._require(request)
        return await self._hub(_authorize(request, viewer))

    async def _open_watches(self, request: Request) -> Answer:
        viewer = await self._require(request)
        self.streams.check(viewer)
        hub = None
        if parse_qs(request.query).get("hub") == ["1"]:
            asked = copy_request(_authorize(request, viewer), path=routes.STREAM)
            hub = _find_events(await self._hub(asked))
        is_valid = self._build_check(request, viewer)
        answer = await self._watches.open(request, viewer, is_valid=is_valid, hub=hub)
        return self.streams.hold(viewer, answer)

    def _build_check(self, request: Request, viewer: Viewer) -> IsValid:
        """Build the check whether the viewer of a stream is still logged in."""

        async def is_valid() -> bool:
            try:
                found = await self._find_viewer(request)
            except ServiceUnavailable:
                return False  # the page opens the stream again, and is not logged out
            return found is not None and found.identifier == viewer.identifier

        return is_valid

    def _redeem(self, request: Request) -> Response:
        """Redeem a one-time link for a session; a used one leads to the login page."""
        if request.method != "GET":  # a HEAD must not use the link up
            return Response(405, [("Allow", "GET"), *SECURITY])
        code = (parse_qs(request.query).get("code") or [""])[0]
        value = self._sessions.redeem_link(code)
        where = "/" if value else "/?login=used"
        headers = [("Location", where), _NO_STORE, *SECURITY]
        if value:
            headers.append(("Set-Cookie", self._sessions.build_cookie(request, value)))
        return Response(303, headers)

    async def _answer_session(self, request: Request) -> Response:
        match request.method:
            case "GET":
                return await self._show_session(request)
            case "POST":
                return await self._log_in(request)
            case "DELETE":
                return await self._log_out(request)
            case _:
                return Response(405, [("Allow", "GET, POST, DELETE"), *SECURITY])

    async def _show_session(self, request: Request) -> Response:
        viewer = await self._find_viewer(request)
        token = viewer.token.reveal() if viewer and viewer.token else ""
        me = await self._find_user(request, token) if viewer else None
        if viewer is None or me is None:
            issuer = self._oidc.label if self._oidc else ""
            shown = {"error": "not logged in", "hint": self._hint, "issuer": issuer}
            return _answer(401, shown)
        return _answer(200, {**me, "csrf": viewer.csrf, "canLogOut": viewer.token is not None})

    async def _log_in(self, request: Request) -> Response:
        if not (request.headers.get("content-type") or "").startswith("application/json"):
            raise BadRequest("send the token as JSON: {token: …}")
        try:
            token = json.decode(await request.read(MAX_BODY)).get("token")
        except (json.JsonError, AttributeError) as error:
            raise BadRequest("send the token as JSON: {token: …}") from error
        if not isinstance(token, str) or not token.strip().isascii():
            raise BadRequest("the token must be text")
        me = await self._find_user(request, token.strip()) if token.strip() else None
        if me is None:
            return _answer(401, {"error": "the token is not valid", "hint": self._hint})
        value = self._sessions.open(token.strip(), user=me["username"])
        cookie = self._sessions.build_cookie(request, value)
        return _answer(200, {"username": me["username"]}, [("Set-Cookie", cookie)])

    async def _log_out(self, request: Request) -> Response:
        viewer = await self._require(request)
        session = self._sessions.find(request)
        if session is not None:
            self._sessions.close(session)
            await self._transports.drop(viewer)
        return _answer(200, {}, [("Set-Cookie", self._sessions.build_cookie(request, ""))])


def _view_session(session: Session) -> Viewer:
    who = session.principal
    return Viewer(
        identifier=session.identifier,
        csrf=session.csrf,
        token=session.token,
        user=who.username if who else "",
        groups=who.groups if who else (),
    )


def _authorize(request: Request, viewer: Viewer) -> Request:
    """The same request with the viewer's token; users of a proxy keep its headers."""
    if viewer.token is None:
        return request
    header = ("authorization", f"Bearer {viewer.token.reveal()}")
    return copy_request(request, headers=Headers([*request.headers.items(), header]))


def _find_events(answer: Answer) -> StreamResponse | None:
    """The hub's stream of events; one that ends at once if the hub cannot answer now, so that the
    page asks again.
    """
    if isinstance(answer, StreamResponse):
        return answer
    return StreamResponse(answer.status, [], _send_nothing) if answer.status >= 500 else None


async def _send_nothing(_: BodyWriter) -> None:
    """Send no event."""


def _answer(
    status: int, document: dict[str, Any], headers: list[tuple[str, str]] | None = None
) -> Response:
    shown = [kube_proxy.JSON, _NO_STORE, *SECURITY, *(headers or ())]
    return Response(status, shown, json.encode(document))


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)
