"""The environment of operators: a manager, a client, settings, and HTTP listeners."""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from quarterdeck.app.ports import DRAIN_S, HOST, listen
from quarterdeck.app.settings import Settings
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.manager.manager import Manager
from quarterdeck.runtime.webhooks import Webhooks

PartSettings = TypeVar("PartSettings", bound=msgspec.Struct)


class Endpoint(NamedTuple):
    """A listener, for the summary of `up`."""

    name: str
    url: str
    what: str


TOKEN_FILE = "token"
"""The administrator's bearer token, in the data folder of `up`; new at each start."""


def shorten_path(path: Path) -> str:
    """Shorten a path for messages: relative, if it is below the current folder."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


class Host:
    """One process that runs operators, embedded or against a cluster."""

    def __init__(
        self,
        *,
        settings: Settings,
        client: Client,
        admin: Client | None = None,
        manager: Manager,
        clock: Clock,
        stack: contextlib.AsyncExitStack,
        api: http.Handler | None = None,
        folder: Path | None = None,
        print_line: Callable[[str], None] | None = None,
        webhooks: Webhooks | None = None,
        part_settings: Sequence[msgspec.Struct] = (),
        local: ClusterConfig | None = None,
        serving_files: tuple[Path, Path] | None = None,
        admin_token: Secret[str] | None = None,
    ) -> None:
        self.settings = settings
        self.client = client
        """A client with the permissions of the operators."""
        self.admin = admin or client
        """A client with all permissions if the API server is embedded, for demos and simulators."""
        self.manager = manager
        self.clock = clock
        self.stack = stack
        """Closed when the process stops, before the API server stops."""
        self.api = api
        """The embedded API server's handler; None when the API server is elsewhere."""
        self.folder = folder
        """Folder for files of an embedded process; None in `run`."""
        self.print_line = print_line
        """Prints a line on the console of `up`; None in `run`."""
        self.local = local
        """The administrator's client configuration of the embedded API server; None in `run`."""
        self.serving_files = serving_files
        """Serving certificate and key of the embedded API server; None in `run`."""
        self.admin_token = admin_token or Secret("")
        """The administrator's token of the embedded API server; empty in `run`."""
        self.webhooks = webhooks
        """Add webhooks here; None if the API server could not call them."""
        self._part_settings = part_settings
        self.endpoints: list[Endpoint] = []
        self.find_console: Callable[[Key], Awaitable[Path | str]] | None = None
        """Finds the console of a machine; None without the machines operator."""

    @property
    def is_embedded(self) -> bool:
        """Whether the API server is in this process."""
        return self.api is not None

    def get_settings(self, kind: type[PartSettings]) -> PartSettings:
        """Return the settings of one operator; the defaults if none were given."""
        for each in self._part_settings:
            if isinstance(each, kind):
                return each
        return kind()

    async def serve(
        self,
        handler: http.Handler,
        *,
        port: int,
        flag: str,
        name: str,
        purpose: str,
        limits: http.Limits | None = None,
    ) -> http.Listener:
        """Serve HTTP on loopback until the process stops, and list it in the summary of `up`.

        Raises:
            StartError: naming the flag, if the port cannot be used.
        """
        server = http.Server(handler, limits=limits or http.Limits(), clock=self.clock)
        listener = await listen(server, port, flag, host=HOST)
        self.stack.push_async_callback(server.drain, DRAIN_S)
        self.endpoints.append(Endpoint(name, listener.url, purpose))
        return listener
