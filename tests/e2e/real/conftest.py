"""A real kube-apiserver for all tests of a file."""

from collections.abc import Iterator

import pytest
from real_server import RealServer, running_real_server


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """etcd and kube-apiserver as processes, without controllers."""
    with running_real_server(tmp_path_factory.mktemp("real")) as server:
        yield server
