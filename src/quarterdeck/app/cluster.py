"""An embedded API server in this process.

    async with Cluster() as cluster:
        ...  # cluster.url, cluster.kubeconfig, cluster.client

It starts in milliseconds, listens on loopback only and leaves nothing behind: hundreds of them in
one test run are fine. Imports no operator.
"""

import asyncio
import contextlib
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.server.api import ApiServer
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import Snapshot, Store

if TYPE_CHECKING:
    from quarterdeck.client import Client

DATABASE = "state.db"
SIGNING_KEY = "service-accounts.key"
_HOST = "127.0.0.1"
_DRAIN_S = 5.0


class Cluster:
    """An embedded API server on plain HTTP; every client is an administrator.

    Without `data_dir` nothing is kept.
    """

    def __init__(
        self,
        *,
        in_memory: bool = True,
        data_dir: Path | str | None = None,
        options: ServerOptions | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        port: int = 0,
        faults: Callable[[http.Handler], http.Handler] | None = None,
        **server: Any,
    ) -> None:
        """`faults` wraps the handler of the server; `quarterdeck.testing` injects faults by it."""
        if not in_memory and data_dir is None:
            raise ValueError("data_dir is required if in_memory is false")
        self._data_dir = Path(data_dir) if data_dir is not None else None
        self._options = options
        self._clock = clock or SystemClock()
        self._random = random.Random(seed)
        self._port = port
        self._faults = faults
        self._server_arguments = server
        self._source: Snapshot | None = None
        self._stack = contextlib.AsyncExitStack()
        self._api: ApiServer | None = None
        self._address = ""
        self._kubeconfig: Path | None = None
        self._client: Client | None = None

    def map_webhook_service(self, service: str, address: str) -> None:
        """Set the address, `host:port`, of a Service of webhooks, `namespace/name`."""
        self.api.webhook_services[service] = address.removeprefix("https://").rstrip("/")

    @property
    def api(self) -> ApiServer:
        """The API server object, for tests that need more than HTTP."""
        if self._api is None:
            raise RuntimeError("the cluster is not running; use `async with Cluster() as cluster`")
        return self._api

    @property
    def url(self) -> str:
        """The URL of the server."""
        if not self._address:
            raise RuntimeError("the cluster is not running; use `async with Cluster() as cluster`")
        return f"http://{self._address}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig for the server: a private file, created on first use, deleted at the end."""
        if self._kubeconfig is None:
            from quarterdeck.app.kubeconfig import write_plain

            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="quarterdeck-"))
            self._kubeconfig = Path(folder) / "kubeconfig"
            write_plain(self._kubeconfig, self.url)
        return self._kubeconfig

    @property
    def client(self) -> "Client":
        """A client of the server, created on first use, closed at the end."""
        if self._client is None:
            from quarterdeck.client import Client, ClusterConfig

            self._client = Client(ClusterConfig(server=self.url), clock=self._clock)
            self._stack.push_async_callback(self._client.aclose)
        return self._client

    def as_user(
        self,
        name: str,
        groups: Sequence[str] = (),
        *,
        uid: str = "",
        extra: Mapping[str, Sequence[str]] | None = None,
    ) -> "Client":
        """A client that impersonates a user, with the user's rights; closed at the end.

        Every user is in `system:authenticated`; a name such as `system:serviceaccount:ns:name` has
        the groups of that account.
        """
        from quarterdeck.client import Client, ClusterConfig
        from quarterdeck.client.config.cluster import Impersonation

        who = Impersonation(
            user=name,
            uid=uid,
            groups=tuple(groups),
            extra={key: tuple(values) for key, values in (extra or {}).items()},
        )
        client = Client(ClusterConfig(server=self.url, impersonate=who), clock=self._clock)
        self._stack.push_async_callback(client.aclose)
        return client

    def fork(self) -> "Cluster":
        """A cluster that starts with the current objects of this one, and then is independent.

        Nothing is copied but references, so it takes no longer than an empty cluster. It stays in
        memory, whatever this one does. Start it with `async with`.
        """
        forked = Cluster(
            options=self._options,
            clock=self._clock,
            seed=self._random.randrange(2**32),
            faults=self._faults,
            **self._server_arguments,
        )
        forked._source = self.api.core.store.snapshot()
        return forked

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End watches, let requests finish, close the store. Stopping twice is fine."""
        stack, self._stack = self._stack, contextlib.AsyncExitStack()
        self._kubeconfig = None
        self._client = None
        await stack.aclose()

    async def _start(self, stack: contextlib.AsyncExitStack) -> None:
        store = await self._open()
        stack.push_async_callback(store.close)
        tasks = await stack.enter_async_context(Supervisor("cluster"))
        self._api = api = ApiServer(
            store,
            self._with_key(self._options or ServerOptions()),
            clock=self._clock,
            rng=self._random,
            **self._server_arguments,
        )
        await api.start()
        tasks.spawn(api.run(), name="api-server")
        handler: http.Handler = api.handle
        if self._faults is not None:
            handler = self._faults(handler)
        server = http.Server(handler, clock=self._clock)
        stack.push_async_callback(_shut_down, api, server)
        listener = await server.listen(_HOST, self._port)
        self._address = f"{_HOST}:{listener.port}"

    def _with_key(self, options: ServerOptions) -> ServerOptions:
        """Store the signing key with the data, so that tokens of service accounts stay valid."""
        if self._data_dir is None or options.signing_key is not None:
            return options
        from quarterdeck.app.certificates import make_key

        path = self._data_dir / SIGNING_KEY
        if not path.is_file():
            make_key(path)
        return msgspec.structs.replace(options, signing_key=path)

    async def _open(self) -> Store:
        if self._data_dir is None:
            from quarterdeck.storage.memory import open_memory

            return open_memory(derive=decode_object_meta, source=self._source)
        from quarterdeck.storage.sqlite import open_sqlite

        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._data_dir / DATABASE
        return await asyncio.to_thread(open_sqlite, path, derive=decode_object_meta)


async def _shut_down(api: ApiServer, server: http.Server) -> None:
    api.stop()
    await server.drain(_DRAIN_S)
