"""One suite over every API server: ours, and a real one where QUARTERDECK_TEST_KUBECONFIG is set.

A test must leave a shared server as it found it, a namespace and definitions of its own aside, and
must not rely on what only controllers of a whole cluster do.
"""

import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from quarterdeck.client import Client, ClusterConfig, load_config
from quarterdeck.meta.identity import GVR
from quarterdeck.testing.background import BackgroundCluster

NAMESPACES = GVR("", "v1", "namespaces")
VARIABLE = "QUARTERDECK_TEST_KUBECONFIG"
REAL = os.environ.get(VARIABLE)


class Place:
    """A client, and a namespace of the test's own."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace


Places = Callable[[], AbstractAsyncContextManager[Place]]


@pytest.fixture(params=["quarterdeck", "real"])
def config(request: pytest.FixtureRequest) -> Iterator[ClusterConfig]:
    """How to reach the server under test."""
    if request.param == "quarterdeck":
        with BackgroundCluster() as cluster:
            yield load_config(cluster.kubeconfig)
    elif REAL:
        yield load_config(REAL)
    else:
        pytest.skip(f"{VARIABLE} is not set")


@pytest.fixture
def place(config: ClusterConfig) -> Places:
    """Opens a place on the server under test."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Place]:
        name = f"contract-{uuid.uuid4().hex[:8]}"
        async with Client(config) as client:
            namespaces = client.resource(NAMESPACES)
            await namespaces.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
            try:
                yield Place(client, name)
            finally:
                await namespaces.delete(name)

    return opened
