"""What an operator is attached to: a manager, a client, settings, and a place for its services."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from quarterdeck.app.embedded import DRAIN_S, HOST, listen
from quarterdeck.app.settings import Settings
from quarterdeck.client.client import Client
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.manager.manager import Manager


class Endpoint(NamedTuple):
    """Something that listens, for the start screen."""

    name: str
    url: str
    what: str


class Host:
    """One process that runs operators, embedded or against a cluster."""

    def __init__(
        self,
        *,
        settings: Settings,
        client: Client,
        manager: Manager,
        clock: Clock,
        stack: contextlib.AsyncExitStack,
        api: http.Handler | None = None,
        folder: Path | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.settings = settings
        self.client = client
        self.manager = manager
        self.clock = clock
        self.stack = stack
        """What is pushed here is undone when the process stops, before the API server goes."""
        self.api = api
        """The embedded API server's handler; None when the API server is elsewhere."""
        self.folder = folder
        """Where an embedded process keeps its files; None when there is no such place."""
        self.tell = tell
        """Shows people a line of what happens; None where there is nobody to look."""
        self.endpoints: list[Endpoint] = []

    @property
    def is_embedded(self) -> bool:
        """Whether the API server is in this process."""
        return self.api is not None

    async def serve(
        self,
        handler: http.Handler,
        *,
        port: int,
        flag: str,
        name: str,
        what: str,
        limits: http.Limits | None = None,
    ) -> http.Listener:
        """Serve HTTP on loopback until the process stops, and show it on the start screen.

        Raises:
            StartError: naming the flag, if the port cannot be used.
        """
        server = http.Server(handler, limits=limits or http.Limits(), clock=self.clock)
        listener = await listen(server, port, flag, host=HOST)
        self.stack.push_async_callback(server.drain, DRAIN_S)
        self.endpoints.append(Endpoint(name, listener.url, what))
        return listener
