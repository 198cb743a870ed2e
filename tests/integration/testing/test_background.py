"""A cluster in a thread: the rights of users, and what happens if it cannot start or fails."""

import asyncio
import socket
import threading

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.server.api import ApiServer
from quarterdeck.testing import BackgroundCluster
from quarterdeck.wire.status import Forbidden


async def test_a_client_of_a_user_has_the_rights_of_the_user(cluster: BackgroundCluster) -> None:
    async with cluster.as_user("alice") as alice:
        with pytest.raises(Forbidden, match='User "alice" cannot list resource "configmaps"'):
            await alice.list(ConfigMap, "default")
    async with cluster.as_user("root", ["system:masters"]) as root:
        assert await root.list(ConfigMap, "default")


def test_a_cluster_that_cannot_start_raises_the_cause() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cluster = BackgroundCluster(port=taken.getsockname()[1])
        with pytest.raises(OSError, match="Address already in use"):
            cluster.start()
        cluster.stop()


def test_a_cluster_may_be_stopped_twice() -> None:
    cluster = BackgroundCluster().start()
    cluster.stop()
    cluster.stop()


@pytest.fixture
def breakage(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The background work of API servers fails once this is set."""
    is_broken = threading.Event()

    async def run(_: ApiServer) -> None:
        await asyncio.to_thread(is_broken.wait)
        raise ZeroDivisionError("the compaction failed")

    monkeypatch.setattr(ApiServer, "run", run)
    return is_broken


def test_a_failure_after_the_start_is_raised_at_the_end(breakage: threading.Event) -> None:
    cluster = BackgroundCluster().start()
    breakage.set()
    with pytest.raises(ZeroDivisionError, match="the compaction failed"):
        cluster.stop()
    cluster.stop()


def test_a_failure_of_the_cluster_does_not_replace_that_of_the_test(
    breakage: threading.Event,
) -> None:
    with pytest.raises(LookupError) as raised, BackgroundCluster():
        breakage.set()
        raise LookupError
    assert "the compaction failed" in raised.value.__notes__[0]
