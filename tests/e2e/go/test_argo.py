"""Argo CD's own validation of every Application that we make."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.e2e.go.test_oracles import build, go

from quarterdeck.apis.experiments.v1alpha1 import Component, Experiment
from quarterdeck.app.experiment_catalog import COMPONENTS
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments import argocd
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.preview import preview
from quarterdeck.operators.experiments.settings import Settings

__all__ = ["go"]

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden/experiments"
SHIPPED = sorted((ROOT / "experiments").glob("*.yaml"))
Document = dict[str, Any]


@pytest.fixture(scope="module")
def program(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(go, "argocd_application", tmp_path_factory.mktemp("argo"))


def validate(program: Path, documents: list[Document]) -> list[str]:
    """What Argo CD says of Applications; the last line counts them."""
    text = yaml.dump_all(documents)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def golden(prefix: str) -> list[Document]:
    return [yaml.load(path.read_text()) for path in sorted(GOLDEN.glob(f"{prefix}*.yaml"))]


def shipped() -> Iterator[Document]:
    """Secrets and Applications of the experiments that ship."""
    components = {each["metadata"]["name"]: msgspec.convert(each, Component) for each in COMPONENTS}
    settings = Settings()
    for path in SHIPPED:
        experiment = msgspec.convert(yaml.load(path.read_text()), Experiment)
        for each in preview(experiment, components, settings).targets:
            status = each.status
            if status.server:
                yield argocd.build_cluster_secret(
                    experiment,
                    each.target.name,
                    status.cluster_name,
                    Connection(server=status.server, token="token"),
                    namespace=settings.argocd_namespace,
                )
            yield from map(dict, each.applications)


def register(server: str) -> Document:
    """A Secret for the cluster of golden files."""
    (secret, *_) = golden("cluster-secret-certificate")
    return {**secret, "stringData": {**secret["stringData"], "server": server}}


def test_argo_cd_accepts_every_golden_application(program: Path) -> None:
    applications = golden("application-")
    servers = {each["spec"]["destination"]["server"] for each in applications}
    remote = sorted(servers - {argocd.IN_CLUSTER})
    assert len(remote) == 1
    found = validate(program, [register(remote[0]), *applications])
    assert found == [f"checked {len(applications)}"]


def test_argo_cd_accepts_the_applications_of_shipped_experiments(program: Path) -> None:
    documents = list(shipped())
    count = sum(1 for each in documents if each["kind"] == "Application")
    assert count > 60
    assert validate(program, documents) == [f"checked {count}"]


def test_argo_cd_refuses_what_is_wrong(program: Path) -> None:
    good = next(each for each in golden("application-") if "direct" not in each["metadata"]["name"])
    source = {"repoURL": "https://git.example.com/x.git", "targetRevision": "HEAD"}
    nowhere = {**good, "spec": {**good["spec"], "sources": [source]}}
    server = good["spec"]["destination"]["server"]
    assert any(
        "InvalidSpecError" in line for line in validate(program, [register(server), nowhere])
    )
    assert any("InvalidSpecError" in line for line in validate(program, [good]))
