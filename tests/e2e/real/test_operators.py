"""All operators on a real kube-apiserver, under the role that we generate, with our samples."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import RUN_FREE_PORTS
from real_server import NAMESPACE, QUARTERDECK, RealServer, wait_until

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

SETTLED = {
    "pipeline/pipeline-sample": ".status.conditions[?(@.type=='Ready')].status=True",
    "pipeline/pipeline-otel-sample": ".status.conditions[?(@.type=='Ready')].status=True",
    "pipelineset/field-set": ".status.conditions[?(@.type=='Ready')].status=True",
    "machineclaim/workbench": ".status.phase=Ready",
    "fleet/web": ".status.readyReplicas=3",
    "runnerpool/ci": ".status.readyReplicas=1",
    "metricsource/pvc-usage": ".status.phase=Active",
    "component/nginx-ingress": ".status.conditions[?(@.type=='Valid')].status=True",
    "application/my-app": ".status.phase=Pending",
    "deployment/my-app": ".spec.replicas=3",
}
"""What samples come to where no kubelet, no clusters and no CI system are."""


def read_lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def _list(items: list[Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A fleet server of ours; what the operators need to know of it."""
    log = tmp_path / "fleet.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*QUARTERDECK, "fleet", "--port", "0", "--data-dir", "fleet"],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "the token is in" in log.read_text(), log.read_text)
        found = re.search(r"listening on (\S+)", log.read_text())
        assert found is not None
        token = (tmp_path / "fleet" / "fleet-token").read_text().strip()
        yield {
            "FLEET_MANAGEMENT_BASE_URL": found[1],
            "FLEET_MANAGEMENT_USERNAME": "operator",
            "FLEET_MANAGEMENT_PASSWORD": token,
        }
    finally:
        programs.stop(process)


@pytest.fixture
def operators(real: RealServer, fleet: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """`quarterdeck run` as the service account of the manifests; its log."""
    kubeconfig = real.install()
    log = tmp_path / "operators.log"
    pages = ("--health-bind-address", "0", "--metrics-bind-address", "0")
    ports = (*RUN_FREE_PORTS, "--no-ingester-enabled")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*QUARTERDECK, "run", *pages, *ports, "--lease-namespace", NAMESPACE],
            env={**os.environ, **fleet, "KUBECONFIG": str(kubeconfig), "LOG_FORMAT": "json"},
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "manager started" in log.read_text(), log.read_text)
        yield log
    finally:
        programs.stop(process)


def test_samples_settle_and_go_again(real: RealServer, operators: Path) -> None:
    samples = json.loads(real.quarterdeck("manifests", "--samples", "-o", "json"))
    real.apply(json.dumps(samples))
    for name, wanted in SETTLED.items():
        _wait_settled(real, name, wanted)
    gone = [each for each in samples["items"] if each["kind"] != "Namespace"]
    real.kubectl("delete", "--wait=false", "-f", "-", given=_list(gone))
    # no controllers are here that end namespaces and collect what deleted objects owned
    real.kubectl("delete", "machineclaims", "--all", "--timeout=240s")
    real.kubectl("delete", "--ignore-not-found", "--timeout=240s", "-f", "-", given=_list(gone))
    lines = read_lines(operators)
    assert [each for each in lines if each["level"] == "error"] == []
    assert [each for each in lines if "orbidden" in json.dumps(each)] == []


def _wait_settled(real: RealServer, name: str, wanted: str) -> None:
    path, _, value = wanted.rpartition("=")
    query = ("get", name, "-o", f"jsonpath={{{path}}}")
    wait_until(
        lambda: real.try_kubectl(*query).stdout == value,
        lambda: real.kubectl("get", name, "-o", "yaml"),
    )
