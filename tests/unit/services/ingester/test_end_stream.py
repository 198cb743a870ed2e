"""A stream that its peer has ended already takes no status, and that is no error."""

from typing import Any

import grpc
import grpc.aio
import pytest

from quarterdeck.services.ingester.server import _end_stream


class Context:
    """A call on which gRPC raises when a status is sent."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(grpc.aio.InternalError("too many operations"), id="ended by its peer"),
        pytest.param(grpc.aio.UsageError("Abort already called!"), id="ended by us"),
    ],
)
async def test_a_stream_that_has_ended_takes_no_status(error: Exception) -> None:
    context: Any = Context(error)
    await _end_stream(context, grpc.StatusCode.UNAVAILABLE, "the hub stops")


async def test_a_stream_that_goes_on_is_ended() -> None:
    context: Any = Context(grpc.aio.AbortError("Locally aborted."))
    with pytest.raises(grpc.aio.AbortError):
        await _end_stream(context, grpc.StatusCode.UNAVAILABLE, "the hub stops")
