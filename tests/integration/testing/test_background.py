"""A cluster in a thread: the rights of users, and what happens if it cannot start."""

import socket

import pytest

from quarterdeck.apis.core import ConfigMap
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
