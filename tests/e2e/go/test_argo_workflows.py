"""Argo Workflows' own validation of every Workflow and WorkflowTemplate that we make."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.e2e.go.test_oracles import build, go

from quarterdeck.apis.experiments.v1alpha1 import Component, Experiment
from quarterdeck.app.experiment_catalog import COMPONENTS, TEMPLATES
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments.preview import preview
from quarterdeck.operators.experiments.settings import Settings

__all__ = ["go"]

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "tests/golden/experiments").glob("workflow*.yaml"))
SHIPPED = sorted((ROOT / "experiments").glob("*.yaml"))
API = "argoproj.io/v1alpha1"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def program(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(go, "argo_workflow", tmp_path_factory.mktemp("argo"))


def validate(program: Path, documents: list[Document]) -> list[str]:
    """What Argo Workflows says of Workflows and templates; the last line counts them."""
    text = yaml.dump_all(documents)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def template(name: str, **members: Any) -> Document:
    """A template with one step, which golden Workflows may name."""
    step = {"name": "main", "container": {"image": "k6", "command": ["k6"]}, **members}
    return {
        "apiVersion": API,
        "kind": "WorkflowTemplate",
        "metadata": {"name": name},
        "spec": {"entrypoint": "main", "templates": [step]},
    }


def plan_shipped() -> list[Document]:
    """The Workflow of each experiment that ships."""
    components = {each["metadata"]["name"]: msgspec.convert(each, Component) for each in COMPONENTS}
    experiments = [msgspec.convert(yaml.load(path.read_text()), Experiment) for path in SHIPPED]
    return [dict(preview(each, components, Settings()).workflow) for each in experiments]


def test_argo_workflows_accepts_every_golden_workflow(program: Path) -> None:
    workflows = [yaml.load(path.read_text()) for path in GOLDEN]
    documents: dict[tuple[str, str], Document] = {}
    for workflow in workflows:
        if reference := workflow["spec"].get("workflowTemplateRef"):
            scope = "Cluster" if reference.get("clusterScope") else ""
            kind = f"{scope}WorkflowTemplate"
            name = reference["name"]
            documents[kind, name] = {**template(name), "kind": kind}
    local = sum(1 for kind, _ in documents if kind == "WorkflowTemplate")
    answer = validate(program, [*documents.values(), *workflows])
    assert answer == [f"checked {local + len(workflows)}"]


def test_argo_workflows_accepts_shipped_templates_and_their_workflows(program: Path) -> None:
    documents = [*map(dict, TEMPLATES), *plan_shipped()]
    assert len(documents) == 32
    assert validate(program, documents) == [f"checked {len(documents)}"]


def test_argo_workflows_refuses_metrics_with_dots(program: Path) -> None:
    """Why workflows report metric-NAME."""
    values = {"path": "/tmp/p99"}
    for name, is_valid in (("metric-p99", True), ("metric.p99", False)):
        outputs = {"parameters": [{"name": "p99", "globalName": name, "valueFrom": values}]}
        found = validate(program, [template("load", outputs=outputs)])
        assert (found == ["checked 1"]) is is_valid, found
