"""The fleet server of this process: its store, its token, and `quarterdeck fleet`."""

import contextlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from quarterdeck.app.errors import StartError
from quarterdeck.app.ports import DRAIN_S, HOST, check_port, listen
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import MAX_TARGET, FleetServer
from quarterdeck.storage import Store
from quarterdeck.storage.errors import OpenFailed

TOKEN_FILE = "fleet-token"
DATABASE = "fleet.db"
LIMITS = http.Limits(target_bytes=MAX_TARGET)
"""HTTP limits with long URLs, because Alloy sends requests in the URL."""


class OpenFleet(NamedTuple):
    """A fleet server without a listener."""

    server: FleetServer
    token: Secret[str]
    token_file: Path
    tasks: Supervisor
    """Its work in the background. It must be watched: without it reports are not stored."""


async def open_fleet(
    folder: Path, stack: contextlib.AsyncExitStack, *, in_memory: bool, clock: Clock
) -> OpenFleet:
    """Open the store and the token, and start the background work of the server.

    An existing token is kept, because agents use it.

    Raises:
        StartError: if the folder cannot be used.
    """
    try:
        token = ensure_token(folder / TOKEN_FILE)
        store = _open(None if in_memory else folder / DATABASE)
    except OpenFailed as error:
        raise StartError(str(error)) from error
    except OSError as error:
        raise StartError(
            f"cannot use the data folder {folder}: {error.strerror or error}; choose another "
            "folder with --data-dir"
        ) from error
    stack.push_async_callback(store.close)
    server = FleetServer(store, Tokens.single(token), clock=clock)
    tasks = await stack.enter_async_context(Supervisor("fleet"))
    tasks.spawn(server.run(), name="fleet-server")
    return OpenFleet(server, token, folder / TOKEN_FILE, tasks)


def ensure_token(path: Path) -> Secret[str]:
    """The token in a file that only its owner can read; created if it does not exist."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        text = path.read_bytes().decode("ascii", "ignore").strip()
        if text:
            path.chmod(0o600)
            return Secret(text)
    text = secrets.token_urlsafe(32)
    write_private_file(path, f"{text}\n".encode())
    return Secret(text)


def _open(path: Path | None) -> Store:
    if path is None:
        from quarterdeck.storage.memory import open_memory

        return open_memory()
    from quarterdeck.storage.sqlite import open_sqlite

    return open_sqlite(path)


class FleetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `quarterdeck fleet`."""

    data_dir: Path = Path(".quarterdeck")
    in_memory: bool = False
    host: str = HOST
    port: int = 8089


async def serve_fleet(settings: FleetSettings, *, print_line: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop.

    Raises:
        StartError: if the port or the data cannot be used.
        Interrupted: if a signal came before it was ready.
    """
    clock = SystemClock()
    check_port(settings.port, "--port", host=settings.host)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            fleet = await open_fleet(
                settings.data_dir, stack, in_memory=settings.in_memory, clock=clock
            )
            web = http.Server(fleet.server.handle, limits=LIMITS, clock=clock)
            stack.push_async_callback(web.drain, DRAIN_S)
            listener = await listen(web, settings.port, "--port", host=settings.host)
        print_line(f"listening on {listener.url}")
        print_line(f"the token is in {fleet.token_file}")
        await stop.wait(fleet.tasks)
