"""One suite, every driver: each test that asks for `states` runs on all of them."""

import socket
import threading
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


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Redis server for all tests of a worker; `states` empties it."""
    port = programs.find_free_port()
    folder = tmp_path_factory.mktemp("redis")
    with programs.run_program(programs.build_redis_command(port), port=port, folder=folder):
        yield Server("127.0.0.1", port)


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A cluster of one server that has all slots, for all tests of a worker; `states` empties it.

    Redis takes two seconds to accept its own slots.
    """
    port = programs.find_free_port()
    options = ("--cluster-enabled", "yes", "--cluster-port", str(programs.find_free_port()))
    folder, pause = tmp_path_factory.mktemp("redis-cluster"), threading.Event()
    with programs.run_program(
        programs.build_redis_command(port, *options), port=port, folder=folder
    ):
        server = Server("127.0.0.1", port)
        assert _ask(server, "CLUSTER ADDSLOTSRANGE 0 16383").startswith(b"+OK")
        while b"cluster_state:ok" not in _ask(server, "CLUSTER INFO"):
            pause.wait(0.02)
        yield server


@pytest.fixture(params=["memory", "embedded", "redis", "redis cluster"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], StateStore]]:
    match request.param:
        case "memory":
            yield lambda: open_embedded(None, clock=SystemClock())
        case "embedded":
            yield lambda: open_embedded(tmp_path / "hub.db", clock=SystemClock())
        case "redis":
            address = RedisAddress(hosts=(_empty(request.getfixturevalue("redis")),))
            yield lambda: RedisState(address)
        case _:
            server = _empty(request.getfixturevalue("redis_cluster"))
            address = RedisAddress(hosts=(server,), mode=Mode.CLUSTER)
            yield lambda: RedisState(address)


def _empty(server: Server) -> Server:
    assert _ask(server, "FLUSHALL").startswith(b"+OK")
    return server


def _ask(server: Server, command: str) -> bytes:
    with socket.create_connection(server) as link:
        link.sendall(f"{command}\r\n".encode())
        return link.recv(4000)
