"""A hub that deploys its collector on a real cluster, with the rights that `clusters add` gives."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_server import NAMESPACE, QUARTERDECK, RealServer, wait_until

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

DEPLOYED = ("-n", "clusterpulse-system", "deployment/clusterpulse-collector")


@pytest.fixture
def hub(real: RealServer, tmp_path: Path) -> Iterator[Path]:
    """The clusters operator as the service account of the manifests; its log."""
    kubeconfig = real.install("--operators", "clusters")
    log = tmp_path / "hub.log"
    pages = ("--health-bind-address", "0", "--metrics-bind-address", "0")
    ingester = ("--ingester-port", "0", "--no-ingester-tls-enabled")
    flags = ("--collector-image", "example/collector:1", "--lease-namespace", NAMESPACE)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*QUARTERDECK, "run", "--operators", "clusters", *pages, *ingester, *flags],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "manager started" in log.read_text(), log.read_text)
        yield log
    finally:
        programs.stop(process)


def test_a_collector_comes_with_its_connection_and_goes_with_it(
    real: RealServer, hub: Path
) -> None:
    real.quarterdeck(
        *("clusters", "add", "--kubeconfig", str(real.kubeconfig), "--name", "pushed"),
        *("--hub-kubeconfig", str(real.kubeconfig), "--push", "hub.example.com:9443"),
    )
    wait_until(lambda: real.try_kubectl("get", *DEPLOYED).returncode == 0, hub.read_text)
    account = "system:serviceaccount:clusterpulse-system:clusterpulse-collector"
    may = real.try_kubectl("auth", "can-i", "list", "pods", "-A", "--as", account)
    may_not = real.try_kubectl("auth", "can-i", "list", "secrets", "-A", "--as", account)
    assert (may.stdout.strip(), may_not.stdout.strip()) == ("yes", "no")
    real.kubectl("delete", "clusterconnection", "pushed", "--timeout=240s")
    assert "NotFound" in real.try_kubectl("get", *DEPLOYED).stderr
    assert "orbidden" not in hub.read_text()
