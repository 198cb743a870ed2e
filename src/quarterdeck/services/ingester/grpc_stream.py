"""A call of grpcio as a stream of bytes."""

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import grpc.aio

_BEARER = "bearer "


class GrpcStream:
    """The server's side of one call."""

    def __init__(self, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        import grpc.aio

        self._context = context
        self._end = grpc.aio.EOF
        self.token = _find_token(context.invocation_metadata() or ())

    async def open(self) -> None:
        """Send the head of the response, so that a write may be cancelled.

        Otherwise grpcio sends it with the first message. If that write is cancelled, it sends the
        head again with the status, which fails, and the peer waits for the status forever.
        """
        await self._context.send_initial_metadata(())

    async def read(self) -> bytes | None:
        """The next message; None at the end."""
        data = await self._context.read()
        return None if data is self._end else data

    async def write(self, data: bytes) -> None:
        """Send a message."""
        await self._context.write(data)

    async def refuse(self, code: "grpc.StatusCode", text: str) -> None:
        """End the stream with a status, which raises; its peer may have ended it already."""
        import grpc.aio

        with contextlib.suppress(grpc.aio.InternalError, grpc.aio.UsageError):
            await self._context.abort(code, text)


def _find_token(metadata: Any) -> str:
    for key, value in metadata:
        if key.lower() == "authorization" and str(value).lower().startswith(_BEARER):
            return str(value)[len(_BEARER) :].strip()
    return ""
