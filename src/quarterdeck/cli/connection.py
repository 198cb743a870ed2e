"""Which cluster a command talks to, and the progress line while a request takes long.

The client is imported when a command connects, so that `--help` does not pay for it.
"""

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.cluster import ClusterConfig, FilePath
    from quarterdeck.client.sender import Sender

Result = TypeVar("Result")
LOCAL = Path(".quarterdeck/kubeconfig")
"""What `quarterdeck up` writes in its working directory."""
_QUIET_S = 1.0


def find_config(kubeconfig: str = "", context: str = "") -> "ClusterConfig":
    """The cluster to use: --kubeconfig, KUBECONFIG, LOCAL, the pod's service account, or ~/.kube.

    Raises:
        ConfigError: naming the places that were tried and what to set.
    """
    from quarterdeck.client.config.locate import load_config

    if kubeconfig:
        return load_config(os.path.expanduser(kubeconfig), context=context)
    if not os.environ.get("KUBECONFIG") and LOCAL.is_file():
        return load_config(LOCAL, context=context)
    return load_config(context=context)


def list_contexts(kubeconfig: str = "") -> list[str]:
    """The contexts of the kubeconfig that `find_config` would read.

    Raises:
        ConfigError: if the kubeconfig cannot be read.
    """
    from quarterdeck.client.config.kubeconfig import read
    from quarterdeck.client.config.locate import list_files

    if kubeconfig:
        files: Sequence[FilePath] = [os.path.expanduser(kubeconfig)]
    elif not os.environ.get("KUBECONFIG") and LOCAL.is_file():
        files = [LOCAL]
    else:
        files = list_files()
    return sorted(read(files).contexts)


@contextlib.asynccontextmanager
async def connect(kubeconfig: str = "", context: str = "") -> AsyncIterator["Client"]:
    """A client of the cluster to use; without a loop, one that can only read."""
    from quarterdeck.cli.loop import has_loop
    from quarterdeck.client.client import Client

    config, sender = find_config(kubeconfig, context), None
    if not has_loop():
        from quarterdeck.client.blocking import BlockingTransport

        sender = BlockingTransport(config)
    async with Client(config, sender=sender) as client:
        yield client


def get_transport(client: "Client") -> "Sender":
    """What sends a client's requests, for answers that are more than an object."""
    from quarterdeck.client.raw import RawApi

    api = client.raw
    assert isinstance(api, RawApi)
    return api.transport


async def with_progress(work: Awaitable[Result], activity: str) -> Result:
    """Await something; after a second print what it is, on a terminal."""
    from quarterdeck.cli.loop import has_loop

    if not has_loop():
        with _print_after(_QUIET_S, f"{activity} ..."):
            return await work
    import asyncio

    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=_QUIET_S)
        if not done and sys.stderr.isatty():
            print(f"{activity} ...", file=sys.stderr)
        return await task
    finally:
        task.cancel()


@contextlib.contextmanager
def _print_after(seconds: float, line: str) -> Iterator[None]:
    """Print a line on a terminal if the block takes longer: a signal interrupts what blocks."""
    if not sys.stderr.isatty():
        yield
        return
    import signal

    before = signal.signal(signal.SIGALRM, lambda *_: print(line, file=sys.stderr))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
