"""Connects a command to its cluster, and prints a progress line for slow requests.

The client is imported when a command connects, so that `--help` stays fast.
"""

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.cluster import ClusterConfig, FilePath
    from quarterdeck.client.sender import Sender

Result = TypeVar("Result")
LOCAL = ".quarterdeck/kubeconfig"
"""The kubeconfig that `quarterdeck up` writes in its working directory."""
_QUIET_S = 1.0


def find_config(kubeconfig: str = "", context: str = "") -> "ClusterConfig":
    """The cluster to use: --kubeconfig, KUBECONFIG, LOCAL, the pod's service account, or ~/.kube.

    Raises:
        ConfigError: naming the places that were tried and what to set.
    """
    from quarterdeck.client.config.locate import load_config

    if kubeconfig:
        return load_config(os.path.expanduser(kubeconfig), context=context)
    if not os.environ.get("KUBECONFIG") and os.path.isfile(LOCAL):
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
    elif not os.environ.get("KUBECONFIG") and os.path.isfile(LOCAL):
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
    """The transport of a client, for responses other than objects."""
    from quarterdeck.client.raw import RawApi

    api = client.raw
    assert isinstance(api, RawApi)
    return api.transport


async def with_progress(work: Awaitable[Result], activity: str) -> Result:
    """Await a request; after a second, print the activity on a terminal."""
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
