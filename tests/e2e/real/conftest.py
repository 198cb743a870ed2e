"""A real kube-apiserver for all tests of a file."""

from collections.abc import Iterator

import pytest
from real_server import RealServer, running_real_server


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """etcd and kube-apiserver as processes, without controllers.

    It calls webhooks of a Service at its Endpoints: nothing here routes the addresses of Services.
    """
    folder = tmp_path_factory.mktemp("real")
    with running_real_server(folder, "--enable-aggregator-routing=true") as server:
        yield server
