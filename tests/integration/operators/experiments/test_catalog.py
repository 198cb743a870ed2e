"""The catalog that ships: what Argo Workflows, Argo CD and metrics stores would refuse."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.app.experiment_catalog import COMPONENTS, TEMPLATES
from quarterdeck.kit import http, json, yaml
from quarterdeck.operators.experiments.drivers.prometheus import Prometheus
from quarterdeck.operators.experiments.results import queries
from quarterdeck.operators.experiments.results.prometheus import QueryError
from quarterdeck.operators.experiments.results.window import parse_times
from quarterdeck.testing import programs

FOLDER = Path(__file__).parents[4] / "experiments"
PARAMETER = re.compile(r"[-a-zA-Z0-9_]+")
"""What Argo Workflows accepts as the name of a parameter."""
VERSION = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+")
WINDOW = parse_times("2026-01-01T00:00:00Z", datetime(2026, 1, 1, 0, 10, tzinfo=UTC))
INJECTED = {"experiment-name", "target-endpoint", "target-name"}


def load(name: str) -> Experiment:
    return msgspec.convert(yaml.load((FOLDER / f"{name}.yaml").read_text()), Experiment)


NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
BY_NAME: dict[str, Any] = {each["metadata"]["name"]: each["spec"] for each in TEMPLATES}


def list_outputs(spec: Any) -> Iterator[dict[str, Any]]:
    for template in spec["templates"]:
        yield from (template.get("outputs") or {}).get("parameters") or ()


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_names_of_parameters_are_those_argo_accepts(name: str) -> None:
    spec = BY_NAME[name]
    declared = [each["name"] for each in (spec.get("arguments") or {}).get("parameters") or ()]
    exported = [each[key] for each in list_outputs(spec) for key in ("name", "globalName")]
    assert [each for each in (*declared, *exported) if not PARAMETER.fullmatch(each)] == []


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_templates_use_only_parameters_they_declare(name: str) -> None:
    spec = BY_NAME[name]
    declared = {each["name"] for each in (spec.get("arguments") or {}).get("parameters") or ()}
    used = set(re.findall(r"{{workflow\.parameters\.([^}]+)}}", json.encode(spec).decode()))
    assert used <= declared
    known = {each["name"] for each in spec["templates"]}
    steps = [step for each in spec["templates"] for row in each.get("steps", ()) for step in row]
    assert {spec["entrypoint"], *(step["template"] for step in steps)} <= known
    assert spec.get("onExit", spec["entrypoint"]) in known


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_gives_every_argument_of_its_template(name: str) -> None:
    experiment = load(name)
    spec = BY_NAME[experiment.spec.workflow.template]
    needed = {
        each["name"]
        for each in (spec.get("arguments") or {}).get("parameters") or ()
        if "value" not in each
    }
    assert needed <= INJECTED | set(experiment.spec.workflow.params)


def test_the_baseline_reports_every_metric_of_its_experiment() -> None:
    exported = {each["globalName"] for each in list_outputs(BY_NAME["http-baseline"])}
    declared = {f"metric-{each.name}" for each in load("http-baseline").spec.metrics}
    assert exported == declared
    script = next(each for each in BY_NAME["http-baseline"]["templates"] if "script" in each)
    written = set(re.findall(r'"(/tmp/\w+)"', script["script"]["source"]))
    assert written == {each["valueFrom"]["path"] for each in script["outputs"]["parameters"]}


def test_charts_are_pinned_and_their_repositories_in_the_form_of_argo_cd() -> None:
    """Argo CD takes a chart of an OCI registry by the registry's name, without a scheme."""
    for component in COMPONENTS:
        for source in component["spec"]["sources"]:
            if "chart" in source:
                assert VERSION.fullmatch(source["targetRevision"]), component["metadata"]["name"]
                assert not source["repoURL"].startswith("oci:"), component["metadata"]["name"]


@pytest.fixture
def metrics_store(tmp_path: Path) -> Iterator[str]:
    """The address of a VictoriaMetrics without data."""
    program, port = programs.require("victoria-metrics"), programs.find_free_port()
    command = [
        *(program, f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={tmp_path / 'data'}"),
        "-memory.allowedBytes=64MB",
    ]
    with programs.run_program(command, port=port, folder=tmp_path):
        yield f"http://127.0.0.1:{port}"


async def test_a_metrics_store_can_parse_every_query(metrics_store: str) -> None:
    refused: list[str] = []
    async with http.Client() as client:
        store = Prometheus(metrics_store, client=client)
        with pytest.raises(QueryError):
            await store.query("sum(rate(x[10m])", WINDOW, is_range=False)
        for name in NAMES:
            for query in queries.list_queries(load(name)):
                text = queries.expand(query.query, experiment=name, namespace=name, duration="10m")
                try:
                    await store.query(text, WINDOW, is_range=query.type == "range")
                except QueryError as error:
                    refused.append(f"{name} {query.name}: {error}")
    assert refused == []
