"""A stream that its peer has ended already takes no status, and that is no error."""

from typing import Any

import grpc
import grpc.aio
import pytest

from quarterdeck.services.ingester.grpc_stream import GrpcStream


class Context:
    """A call on which gRPC raises when a status is sent."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def invocation_metadata(self) -> None:
        return None

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(grpc.aio.InternalError("the call is cancelled"), id="ended by its peer"),
        pytest.param(grpc.aio.UsageError("Abort already called!"), id="ended by us"),
    ],
)
async def test_a_stream_that_has_ended_takes_no_status(error: Exception) -> None:
    context: Any = Context(error)
    await GrpcStream(context).refuse(grpc.StatusCode.UNAVAILABLE, "the hub stops")


async def test_a_stream_that_goes_on_is_ended() -> None:
    context: Any = Context(grpc.aio.AbortError("Locally aborted."))
    with pytest.raises(grpc.aio.AbortError):
        await GrpcStream(context).refuse(grpc.StatusCode.UNAVAILABLE, "the hub stops")
