"""Forwards requests to another API server, with the credentials of this process."""

from collections.abc import Sequence

from quarterdeck.client.errors import ClientError
from quarterdeck.client.requests import ApiRequest
from quarterdeck.client.sender import Sender
from quarterdeck.kit.http import BodyWriter, Request, Response, StreamResponse
from quarterdeck.services.applications import credentials
from quarterdeck.services.applications.errors import JSON
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import ApiError, ServiceUnavailable

MAX_BODY = 3 * 1024 * 1024
_PASSED = ("accept", "content-type")
_DROPPED = frozenset(
    {"connection", "content-length", "date", "keep-alive", "transfer-encoding", "content-encoding"}
)


class Proxy:
    """A handler that forwards requests to another server."""

    def __init__(self, transport: Sender) -> None:
        self._transport = transport

    async def handle(self, request: Request) -> Response | StreamResponse:
        """Forward a request; streams the answer of a watch, and refuses credentials."""
        if credentials.has_credentials(request):
            refusal = credentials.build_forbidden(request)
            return Response(refusal.code, JSON, refusal.encode())
        path = paths.parse(request.path) or ResourcePath("", "", "")
        body = await request.read(MAX_BODY)
        headers = [
            (name, value) for name in _PASSED if (value := request.headers.get(name)) is not None
        ]
        asked = ApiRequest(
            verb="watch" if "watch=" in request.query else request.method.lower(),
            method=request.method,
            path=path,
            target=request.target,
            headers=headers or [("accept", "application/json")],
            body=body or None,
        )
        try:
            answered = await self._transport.open(asked)
        except ApiError as error:
            return Response(error.code, JSON, error.encode())
        except ClientError as error:
            return Response(503, JSON, ServiceUnavailable(str(error)).encode())
        head = _keep_headers(answered.headers.items())
        if asked.verb != "watch":
            async with answered:
                return Response(answered.status, head, await answered.read())

        async def run(writer: BodyWriter) -> None:
            async with answered:
                async for chunk in answered.chunks():
                    await writer.write(chunk)

        return StreamResponse(answered.status, head, run)


def _keep_headers(items: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in items if name.lower() not in _DROPPED]
