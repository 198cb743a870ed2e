"""Passes requests of the page on to the Kubernetes API, with the viewer's identity."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from quarterdeck.client.errors import ClientError
from quarterdeck.client.requests import ApiRequest
from quarterdeck.kit.http import BodyWriter, HttpError, Request, Response, StreamResponse
from quarterdeck.services.hub.web import secret_mask
from quarterdeck.services.hub.web.viewer import Transports, Viewer
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import ApiError, Forbidden, ServiceUnavailable

PREFIX = "/k8s"
MAX_BODY = 3 * 1024 * 1024
ROOTS = ("/api", "/apis", "/openapi", "/version")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_REFUSED = frozenset({"exec", "attach", "portforward", "proxy"})
"""Subresources that give access to pods, nodes and services; the page does not need them."""
_UNCLEAN = frozenset({"", ".", ".."})
"""Segments that a proxy on the way may resolve: what it reads then is not what was checked."""
_PASSED = ("accept", "content-type")
_KEPT = frozenset({"content-type", "warning", "retry-after", "etag", "last-modified"})
JSON = ("Content-Type", "application/json")
HEADERS = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
]


class KubeProxy:
    """A handler of `/k8s/…` for viewers whose identity is known."""

    def __init__(self, transports: Transports) -> None:
        self._transports = transports

    async def handle(self, request: Request, viewer: Viewer) -> Response | StreamResponse:
        """Forward a request with the viewer's identity, and return the response."""
        target = request.target.removeprefix(PREFIX)
        path = paths.parse(request.path.removeprefix(PREFIX))
        refusal = _find_refusal(request, target, path)
        if refusal:
            return fail(Forbidden(refusal))
        target, is_revealed = split_reveal(target)
        masked = secret_mask.is_about_secrets(path) and not is_revealed
        headers = [(name, value) for name in _PASSED if (value := request.headers.get(name))]
        if masked:  # what is hidden must be JSON; Tables are
            headers = [each for each in headers if each[0] != "accept" or "json" in each[1]]
        asked = ApiRequest(
            verb="watch" if _is_log(path) else request.method.lower(),
            method=request.method,
            path=path or ResourcePath("", "", ""),
            target=target,
            headers=headers,
            body=await request.read(MAX_BODY) or None,
        )
        return await self._pass_on(asked, viewer, masked=masked)

    async def _pass_on(
        self, asked: ApiRequest, viewer: Viewer, *, masked: bool
    ) -> Response | StreamResponse:
        transport = await self._transports.get(viewer)
        try:
            answered = await transport.open(asked)
            head = _choose_headers(answered.headers.items())
            if asked.verb != "watch":
                async with answered:
                    body = await answered.read()
                body = secret_mask.mask(body) if masked else body
                return Response(answered.status, head, body)
        except ApiError as error:
            return fail(error)
        except (ClientError, HttpError) as error:
            return fail(ServiceUnavailable(str(error)))

        async def run(writer: BodyWriter) -> None:
            async with answered:
                async for chunk in answered.chunks():
                    await writer.write(chunk)

        return StreamResponse(answered.status, head, run)


def is_clean(path: str) -> bool:
    """Whether a path, after decoding, has no segment that a proxy on the way may resolve."""
    return _UNCLEAN.isdisjoint(path.removesuffix("/").split("/")[1:])


def may_be_endless(request: Request) -> bool:
    """Whether the response to a request may be endless."""
    return _is_log(paths.parse(request.path.removeprefix(PREFIX)))


def fail(error: ApiError) -> Response:
    """Build the response of an error, in the format of the API server."""
    return Response(error.code, [JSON, *HEADERS], error.encode())


def split_reveal(target: str) -> tuple[str, bool]:
    """Remove `reveal` from the query of a target; also returns whether it was `true`."""
    path, _, query = target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = [each for each in pairs if each[0] != "reveal"]
    shown = f"{path}?{urlencode(kept)}" if kept else path
    return shown, ("reveal", "true") in pairs


def _find_refusal(request: Request, target: str, path: ResourcePath | None) -> str:
    """Why a request is not passed on; empty if it is."""
    root = "/" + target.partition("?")[0].lstrip("/").partition("/")[0]
    if root not in ROOTS:
        return f"the dashboard passes on requests below {', '.join(ROOTS)} only, not {root}"
    if not is_clean(request.path.removeprefix(PREFIX)):
        return "the dashboard does not pass on paths with //, /./ or /../"
    if request.method not in _METHODS:
        return f"method {request.method} is not passed on"
    if path is not None and path.subresource.partition("/")[0] in _REFUSED:
        return f"the dashboard does not pass on {path.subresource}; use kubectl"
    query = dict(parse_qsl(target.partition("?")[2], keep_blank_values=True))
    if "watch" in query or (path is not None and path.legacy_watch):  # `?watch` is true, too
        return "watches go through /watch, which carries several of them"
    return ""


def _is_log(path: ResourcePath | None) -> bool:
    """Whether the response is a log, which is streamed because it may be endless or large.

    The query is not checked for `follow`, because it has several spellings, such as `follow=1`.
    """
    return path is not None and path.subresource == "log"


def _choose_headers(items: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [*((name, value) for name, value in items if name.lower() in _KEPT), *HEADERS]
