"""A cluster in a thread of its own, for synchronous tests and for programs under test."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from quarterdeck.app.cluster import Cluster

if TYPE_CHECKING:
    from quarterdeck.client import Client

_START_S = 120.0
"""Long, because a busy machine takes long to load the server for the first time."""


class BackgroundCluster:
    """Starts an embedded API server beside the test; stop it, or use it as a context manager."""

    def __init__(self, **options: Any) -> None:
        """`options` are those of `quarterdeck.app.cluster.Cluster`."""
        self._options = options
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="quarterdeck-cluster", daemon=True)
        self.url = ""
        self.kubeconfig = Path()

    def start(self) -> Self:
        """Start and wait until requests are answered."""
        self._thread.start()
        if not self._ready.wait(_START_S):
            raise TimeoutError("the embedded cluster did not start")
        self._raise_failure()
        return self

    def as_user(self, name: str, groups: Sequence[str] = ()) -> "Client":
        """A client that impersonates a user, with the user's rights; close it with `async with`."""
        from quarterdeck.client import Client, ClusterConfig
        from quarterdeck.client.config.cluster import Impersonation

        who = Impersonation(user=name, groups=tuple(groups))
        return Client(ClusterConfig(server=self.url, impersonate=who))

    def stop(self) -> None:
        """End it and wait; raises the error of a server that failed after its start, once."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop was closed by a failure just now
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._raise_failure()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        except BaseException as failure:
            if error is None:
                raise
            error.add_note(f"the embedded cluster failed, too: {failure!r}")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self) -> None:
        runner = asyncio.Runner()
        try:
            with runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Cluster(**self._options) as cluster:
            self.url, self.kubeconfig = cluster.url, cluster.kubeconfig
            self._ready.set()
            await self._stop.wait()
