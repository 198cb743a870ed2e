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


class Breakage:
    """Makes the background work of API servers fail."""

    def __init__(self) -> None:
        self._is_wanted = threading.Event()
        self._is_there = threading.Event()

    def cause(self) -> None:
        """Let it fail, and wait until it has: a server that is stopped before has not failed."""
        self._is_wanted.set()
        assert self._is_there.wait(60)

    async def run(self, _: ApiServer) -> None:
        """Stands for `ApiServer.run`."""
        await asyncio.to_thread(self._is_wanted.wait)
        self._is_there.set()
        raise ZeroDivisionError("the compaction failed")


@pytest.fixture
def breakage(monkeypatch: pytest.MonkeyPatch) -> Breakage:
    """The background work of API servers fails when this is caused."""
    found = Breakage()
    monkeypatch.setattr(ApiServer, "run", lambda server: found.run(server))
    return found


def test_a_failure_after_the_start_is_raised_at_the_end(breakage: Breakage) -> None:
    cluster = BackgroundCluster().start()
    breakage.cause()
    with pytest.raises(ZeroDivisionError, match="the compaction failed"):
        cluster.stop()
    cluster.stop()


def test_a_failure_of_the_cluster_does_not_replace_that_of_the_test(
    breakage: Breakage,
) -> None:
    with pytest.raises(LookupError) as raised, BackgroundCluster():
        breakage.cause()
        raise LookupError
    assert "the compaction failed" in raised.value.__notes__[0]
