"""One call of gRPC, as the ingester uses it."""

import asyncio
import contextlib
from typing import Any

import grpc
import grpc.aio

from quarterdeck.services.ingester.grpc_stream import GrpcStream

REFUSED = grpc.StatusCode.INVALID_ARGUMENT


async def serve(_: Any, context: Any) -> None:
    """Refuse a call while its first message is being written."""
    stream = GrpcStream(context)
    await stream.read()
    await stream.open()
    writing = asyncio.create_task(stream.write(b"config"))
    await asyncio.sleep(0)  # grpcio has the message, and has not said that it is sent
    writing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await writing
    await stream.refuse(REFUSED, "not in order")


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    def service(self, _: Any) -> Any:
        return grpc.stream_stream_rpc_method_handler(serve)


async def test_a_refusal_arrives_although_a_write_was_cancelled() -> None:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with (
            asyncio.timeout(240),
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            call = channel.stream_stream("/test/Connect")()
            await call.write(b"register")
            with contextlib.suppress(grpc.aio.AioRpcError):
                while await call.read() is not grpc.aio.EOF:
                    pass
            assert (await call.code(), await call.details()) == (REFUSED, "not in order")
    finally:
        await server.stop(0)
