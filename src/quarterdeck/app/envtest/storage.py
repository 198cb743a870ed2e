"""The substitute for etcd: answers health checks, and names the data folder to an API server.

The API server opens the data itself. This process only knows the folder, so that an API server can
be restarted alone and finds its objects again.
"""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from quarterdeck.app.errors import StartError
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json

DATA_PATH = "/quarterdeck/data-dir"
"""The path that returns the data folder to an API server; etcd has no such path."""
_FETCH_TIMEOUT_S = 10.0


async def serve_storage(urls: list[str], data_dir: Path) -> None:
    """Serve until a signal.

    Raises:
        StartError: if the folder or an address cannot be used.
    """
    _make_folder(data_dir)

    async def handle(request: http.Request) -> http.Response:
        return _answer(request.path, data_dir)

    async with StopSignal() as stop, http.Server(handle) as server:
        for url in urls:
            parts = urlsplit(url)
            try:
                await server.listen(parts.hostname or "127.0.0.1", parts.port or 2379)
            except OSError as error:
                raise StartError(
                    f"cannot listen on {url} (--listen-client-urls): {error.strerror}"
                ) from error
        await stop.wait()


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"cannot use --data-dir {path}: {error.strerror}") from error


def _answer(path: str, data_dir: Path) -> http.Response:
    headers = [("Content-Type", "application/json")]
    match path:
        case "/health":
            return http.Response(200, headers, b'{"health":"true","reason":""}')
        case "/version":
            return http.Response(200, headers, b'{"etcdserver":"3.5.0","etcdcluster":"3.5.0"}')
        case _ if path == DATA_PATH:
            body = kit_json.encode({"folder": str(data_dir.resolve())})
            return http.Response(200, headers, body)
        case _:
            return http.Response(404, headers, b"{}")


async def find_data_dir(servers: list[str]) -> Path | None:
    """Ask the substitute for etcd for the data folder; None without `--etcd-servers`.

    Raises:
        StartError: if it does not answer, or is a real etcd.
    """
    if not servers:
        return None
    url = servers[0].rstrip("/") + DATA_PATH
    try:
        async with asyncio.timeout(_FETCH_TIMEOUT_S), http.Client() as client:
            response = await client.request("GET", url)
            body = await response.read()
    except (http.HttpError, OSError, TimeoutError) as error:
        raise StartError(f"cannot reach {servers[0]} (--etcd-servers): {error}") from error
    if response.status != 200:
        raise StartError(
            f"{servers[0]} (--etcd-servers) is not the etcd of `quarterdeck envtest`; "
            "use both programs of its folder"
        )
    return Path(kit_json.decode(body)["folder"])
