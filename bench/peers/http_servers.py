"""HTTP servers that do the same with different libraries.

`python -m bench.peers.http_servers KIND LOOP` prints its port, then answers each line on its
standard input with the processor seconds it has used; it ends with its input.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SMALL = b'{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"' + b"v" * 500 + b'"}}'
LINE = b'{"type":"MODIFIED","object":{"kind":"ConfigMap","data":{"k":"' + b"v" * 230 + b'"}}}\n'
LINES = 5000
JSON = "application/json"

Started = Callable[[int], None]


async def quarterdeck(started: Started) -> None:
    from quarterdeck.kit import http

    async def stream(writer: http.BodyWriter) -> None:
        for _ in range(LINES):
            await writer.write(LINE)

    async def handle(request: http.Request) -> http.Response | http.StreamResponse:
        if request.path == "/small":
            return http.Response(200, [("content-type", JSON)], SMALL)
        if request.path == "/lines":
            return http.StreamResponse(200, [("content-type", JSON)], stream)
        return http.Response(200, [("content-type", JSON)], await request.read(1 << 20))

    async with http.Server(handle) as server:
        started((await server.listen("127.0.0.1", 0)).port)
        await asyncio.Event().wait()


async def aiohttp(started: Started) -> None:
    from aiohttp import web

    async def small(request: web.Request) -> web.Response:
        return web.Response(body=SMALL, content_type=JSON)

    async def lines(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": JSON})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for _ in range(LINES):
            await response.write(LINE)
        await response.write_eof()
        return response

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), content_type=JSON)

    app = web.Application()
    app.add_routes([web.get("/small", small), web.get("/lines", lines), web.post("/echo", echo)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    started(runner.addresses[0][1])
    await asyncio.Event().wait()


class _Stdlib(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it sends head and body apart, and would wait 40 ms in between

    def do_GET(self) -> None:
        self._send(SMALL)

    def do_POST(self) -> None:
        self._send(self.rfile.read(int(self.headers["content-length"])))

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", JSON)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs are no part of the comparison."""


def stdlib(started: Started) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Stdlib)
    started(server.server_address[1])
    server.serve_forever()


def main() -> None:
    kind, loop = sys.argv[1:]
    threading.Thread(target=_answer, daemon=True).start()
    if kind == "stdlib":
        stdlib(_started)
        return
    servers: dict[str, Callable[[Started], Awaitable[None]]] = {
        "quarterdeck": quarterdeck,
        "aiohttp": aiohttp,
    }
    factory = None
    if loop == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_awaited(servers[kind](_started)))


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _started(port: int) -> None:
    print(port, flush=True)


def _answer() -> None:
    for _ in sys.stdin:
        print(time.process_time(), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
