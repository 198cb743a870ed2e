"""One suite, every driver: each test that asks for `states` runs on all of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.redis.address import Mode, RedisAddress
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.kit.clock import SystemClock
from quarterdeck.testing import programs


class Server(NamedTuple):
    host: str
    port: int


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Server]:
    port = programs.free_port()
    with programs.running(programs.redis_server(port), port=port, folder=tmp_path):
        yield Server("127.0.0.1", port)


@pytest.fixture(params=["memory", "embedded", "redis", "redis cluster"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], StateStore]]:
    match request.param:
        case "memory":
            yield lambda: open_embedded(None, clock=SystemClock())
        case "embedded":
            yield lambda: open_embedded(tmp_path / "hub.db", clock=SystemClock())
        case "redis":
            server: Server = request.getfixturevalue("redis")
            yield lambda: RedisState(RedisAddress(hosts=(server,)))
        case _:
            yield from _cluster(tmp_path)


def _cluster(folder: Path) -> Iterator[Callable[[], StateStore]]:
    """A cluster of one server that has all slots."""
    import socket

    port = programs.free_port()
    options = ("--cluster-enabled", "yes", "--cluster-port", str(programs.free_port()))
    with programs.running(programs.redis_server(port, *options), port=port, folder=folder):
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.sendall(b"CLUSTER ADDSLOTSRANGE 0 16383\r\n")
            assert link.recv(100).startswith(b"+OK")
            while True:
                link.sendall(b"CLUSTER INFO\r\n")
                if b"cluster_state:ok" in link.recv(4000):
                    break
        address = RedisAddress(hosts=(("127.0.0.1", port),), mode=Mode.CLUSTER)
        yield lambda: RedisState(address)
