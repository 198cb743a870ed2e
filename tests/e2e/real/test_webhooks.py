"""The webhooks of pipelines on a real kube-apiserver, served by two replicas as in a cluster.

The replicas run in mount namespaces where the files of their service account are, so that they
find themselves in a pod. The Service is the one of the manifests; its Endpoints are written here.
"""

import json
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from real_server import NAMESPACE, QUARTERDECK, RealServer, wait_until

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

GROUP = "fleetmanagement.grafana.com/v1alpha1"
SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NO_FLEET = {
    "FLEET_MANAGEMENT_BASE_URL": "https://127.0.0.1:9",
    "FLEET_MANAGEMENT_USERNAME": "nobody",
    "FLEET_MANAGEMENT_PASSWORD": "nothing",
}
"""A fleet server that does not answer: webhooks work without one."""


class Replica:
    """`quarterdeck run` as if in a pod."""

    def __init__(self, real: RealServer, token: Path, folder: Path, name: str) -> None:
        self.port = programs.find_free_port()
        self.log = folder / f"{name}.log"
        self._arguments = real, token, name
        self.start()

    def start(self) -> None:
        real, token, name = self._arguments
        mounted = f"mount -t tmpfs tmpfs /run && mkdir -p {ACCOUNT_FOLDER}"
        copied = f"cp {shlex.quote(str(token))}/* {ACCOUNT_FOLDER}/"
        flags = ("--operators", "pipelines", "--webhook-port", str(self.port))
        pages = ("--health-bind-address", "0", "--metrics-bind-address", "0")
        command = shlex.join([*QUARTERDECK, "run", *flags, *pages])
        address = urlsplit(real.url)
        clean = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", f"{mounted} && {copied} && exec {command}"],
                env={
                    **clean,
                    **{"KUBERNETES_SERVICE_HOST": str(address.hostname)},
                    **{"KUBERNETES_SERVICE_PORT": str(address.port)},
                    **{"POD_NAME": name, "POD_NAMESPACE": NAMESPACE},
                    **NO_FLEET,
                },
                cwd=self.log.parent,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def wait_registered(self) -> None:
        def is_registered() -> bool:
            assert self._process.poll() is None, self.log.read_text()
            return "registered webhooks" in self.log.read_text()

        wait_until(is_registered, self.log.read_text)

    def stop(self) -> None:
        programs.stop(self._process)


class Fleet:
    """Two replicas and what an administrator does."""

    def __init__(self, real: RealServer, replicas: list[Replica]) -> None:
        self.real = real
        self.replicas = replicas
        self.host = _find_address()

    def route_to(self, *replicas: Replica) -> None:
        """Write what a cluster writes of ready pods."""
        subsets = [
            {
                "addresses": [{"ip": self.host}],
                "ports": [{"name": "webhooks", "port": each.port}],
            }
            for each in replicas
        ]
        endpoints = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "quarterdeck-webhooks", "namespace": NAMESPACE},
            "subsets": subsets,
        }
        self.real.apply(json.dumps(endpoints))
        wait_until(
            lambda: self.create("Pipeline", "probe", "--dry-run=server", **PIPELINE) is None,
            lambda: self.create("Pipeline", "probe", "--dry-run=server", **PIPELINE),
        )

    def create(self, kind: str, name: str, *flags: str, **spec: Any) -> str | None:
        """Create an object; None, or why it was refused."""
        document = {
            "apiVersion": GROUP,
            "kind": kind,
            "metadata": {"name": name} | ({} if kind == "TenantPolicy" else IN_DEFAULT),
            "spec": spec,
        }
        done = self.real.try_kubectl("create", "-f", "-", *flags, given=json.dumps(document))
        return None if done.returncode == 0 else done.stderr


IN_DEFAULT = {"namespace": "default"}
PIPELINE = {"contents": SCRAPE, "matchers": ["env=prod"]}


def _find_address() -> str:
    """An address of this machine that Endpoints may name; loopback is not one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address besides loopback")
        found: str = probe.getsockname()[0]
    return found


@pytest.fixture(scope="module")
def fleet(real: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two replicas that started at the same time."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("mount namespaces cannot be made here (unshare -m)")
    folder = tmp_path_factory.mktemp("replicas")
    real.install("--operators", "pipelines")
    token = folder / "account"
    token.mkdir()
    account = ("create", "token", "quarterdeck-manager", "-n", NAMESPACE)
    (token / "token").write_text(real.kubectl(*account).strip())
    (token / "ca.crt").write_text(real.authority)
    (token / "namespace").write_text(NAMESPACE)
    replicas = [Replica(real, token, folder, f"replica-{number}") for number in range(2)]
    try:
        for each in replicas:
            each.wait_registered()
        yield Fleet(real, replicas)
    finally:
        for each in replicas:
            each.stop()


def test_writes_are_judged_and_defaulted_by_either_replica(fleet: Fleet) -> None:
    for number, (one, other) in enumerate((fleet.replicas, reversed(fleet.replicas))):
        other.stop()  # the API server would go on using its connection
        fleet.route_to(one)
        _check_defaults(fleet, number)
        other.start()
        other.wait_registered()  # after the one that is called
        fleet.route_to(one)
        _check_pipelines(fleet, number)


def _check_pipelines(fleet: Fleet, number: int) -> None:
    assert fleet.create("Pipeline", f"fine-{number}", **PIPELINE) is None
    refused = fleet.create("Pipeline", "bad", contents=SCRAPE, matchers=["env=~[a-"])
    assert refused is not None
    assert 'admission webhook "validate-fleetmanagement-grafana-com-v1alpha1-pipeline.' in refused
    assert "denied the request: Pipeline bad: spec.matchers[0]" in refused
    refused = fleet.create("Pipeline", "bad", contents="prometheus.scrape {", matchers=["a=b"])
    assert refused is not None and "denied the request: Pipeline bad: spec.contents" in refused


def _check_defaults(fleet: Fleet, number: int) -> None:
    url = "https://fleet.example.com/pipeline.v1.PipelineService/"
    assert fleet.create("FleetConnection", f"fleet-{number}", url=url) is None
    stored = fleet.real.get("fleetconnection", f"fleet-{number}")
    assert stored["spec"]["url"] == "https://fleet.example.com"
    assert fleet.create("PipelineDiscovery", f"found-{number}") is None
    stored = fleet.real.get("pipelinediscovery", f"found-{number}")
    assert stored["spec"]["targetNamespace"] == "default"


def test_both_replicas_serve_the_certificate_of_the_secret(fleet: Fleet) -> None:
    secret = fleet.real.get("secret", "quarterdeck-webhooks-certificate", "-n", NAMESPACE)
    for kind in ("mutating", "validating"):
        stored = fleet.real.get(f"{kind}webhookconfiguration", "webhooks.quarterdeck.dev")
        bundles = {each["clientConfig"]["caBundle"] for each in stored["webhooks"]}
        assert bundles == {secret["data"]["ca.crt"]}
    for each in fleet.replicas:
        assert "PRIVATE KEY" not in each.log.read_text()


def test_every_sample_of_the_group_is_accepted(fleet: Fleet) -> None:
    fleet.route_to(*fleet.replicas)
    samples = fleet.real.quarterdeck("manifests", "--samples", "--operators", "pipelines")
    fleet.real.kubectl("apply", "--dry-run=server", "-f", "-", given=samples)


def test_a_tenant_policy_binds_a_user(fleet: Fleet) -> None:
    fleet.route_to(*fleet.replicas)
    subjects = [{"kind": "User", "name": "anna"}]
    policy = {"requiredMatchers": ["team=a"], "subjects": subjects}
    assert fleet.create("TenantPolicy", "team-a", **policy) is None
    as_anna = ("--as", "anna", "--as-group", "system:masters", "--dry-run=server")
    refused = fleet.create("Pipeline", "of-anna", *as_anna, **PIPELINE)
    assert refused is not None and "TenantPolicy team-a" in refused
    own = {**PIPELINE, "matchers": ["team=a"]}
    assert fleet.create("Pipeline", "of-anna", *as_anna, **own) is None
    fleet.real.kubectl("delete", "tenantpolicy", "team-a")
