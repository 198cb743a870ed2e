"""Which cluster a command talks to, and what is said while it takes long."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.config.locate import load_config
from quarterdeck.client.raw import RawApi
from quarterdeck.client.transport import Transport

Result = TypeVar("Result")
LOCAL = Path(".quarterdeck/kubeconfig")
_PATIENCE_S = 1.0

Kubeconfig = Annotated[str, typer.Option("--kubeconfig", metavar="PATH", help="Kubeconfig to use.")]
Context = Annotated[str, typer.Option("--context", metavar="NAME", help="Context to use.")]
Namespace = Annotated[
    str,
    typer.Option("--namespace", "-n", metavar="NAME", help="Namespace, default: the context's."),
]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]
Labels = Annotated[str, typer.Option("--selector", "-l", metavar="LABELS", help="Label selector.")]


def find_config(kubeconfig: str = "", context: str = "") -> ClusterConfig:
    """The cluster meant: the flag, KUBECONFIG, what `up` wrote here, a pod's own, or home.

    Raises:
        ConfigError: saying what was looked for and what to set.
    """
    if kubeconfig:
        return load_config(Path(kubeconfig).expanduser(), context=context)
    if not os.environ.get("KUBECONFIG") and LOCAL.is_file():
        return load_config(LOCAL, context=context)
    return load_config(context=context)


@contextlib.asynccontextmanager
async def reach(kubeconfig: str = "", context: str = "") -> AsyncIterator[Client]:
    """A client of the cluster meant."""
    async with Client(find_config(kubeconfig, context)) as client:
        yield client


def transport_of(client: Client) -> Transport:
    """What sends a client's requests, for answers that are more than an object."""
    api = client.raw
    assert isinstance(api, RawApi)
    return api.transport


async def patiently(work: Awaitable[Result], what: str) -> Result:
    """Wait for something; after a second say what for, on a terminal."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=_PATIENCE_S)
        if done or not sys.stderr.isatty():
            return await task
        from rich.console import Console

        with Console(stderr=True).status(what):
            return await task
    finally:
        task.cancel()
