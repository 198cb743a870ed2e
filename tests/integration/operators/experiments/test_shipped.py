"""The experiments that ship: each is valid, names only what ships, and completes offline."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integration.operators.experiments.world import World, running

from quarterdeck.apis.experiments.v1alpha1 import RESUME, Component, Experiment
from quarterdeck.app.experiment_catalog import COMPONENTS, TEMPLATES
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.drivers.result_stores import Files
from quarterdeck.operators.experiments.preview import preview
from quarterdeck.operators.experiments.results import Collector, Result, decode
from quarterdeck.operators.experiments.settings import Settings

FOLDER = Path(__file__).parents[4] / "experiments"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
ROWS = {
    "_template",
    "hello-app",
    "http-baseline",
    "cicd-fundamentals",
    "gateway-tutorial",
    "gateway-comparison",
    "loki-tutorial",
    "elk-tutorial",
    "logging-comparison",
    "prometheus-tutorial",
    "obs-cost-tutorial",
    "otel-tutorial",
    "tracing-comparison",
    "tsdb-comparison",
    "seaweedfs-tutorial",
    "slo-tutorial",
}
QUICKLY = ("hello-app", "http-baseline", "cicd-fundamentals", "gateway-tutorial")
WITHIN_S = 240.0
BATCH = 4


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load((FOLDER / f"{name}.yaml").read_text())
    return document


def load(name: str) -> Experiment:
    return msgspec.convert(read(name), Experiment)


def test_all_sixteen_scenarios_ship() -> None:
    assert set(NAMES) == ROWS


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_experiment_can_be_planned(name: str) -> None:
    components = {each["metadata"]["name"]: msgspec.convert(each, Component) for each in COMPONENTS}
    found = preview(load(name), components, Settings())
    assert found.problems == ()
    templates = {each["metadata"]["name"] for each in TEMPLATES}
    assert found.experiment.spec.workflow.template in templates


@pytest.mark.parametrize("name", NAMES)
def test_names_fit_into_google_cloud(name: str) -> None:
    experiment = load(name)
    for target in experiment.spec.targets:
        if target.cluster.type == "gke":
            assert (
                naming.compute_gke_name_length(experiment.metadata.name, target.name)
                <= naming.MAX_GKE
            )


def test_every_component_and_template_is_used() -> None:
    experiments = [load(name) for name in NAMES]
    named = {
        ref.app or ref.workflow or ref.config
        for each in experiments
        for target in each.spec.targets
        for ref in target.components
    }
    assert {each["metadata"]["name"] for each in COMPONENTS} == named
    used = {each.spec.workflow.template for each in experiments}
    assert {each["metadata"]["name"] for each in TEMPLATES} == used


def test_tutorials_look_where_their_components_are_installed() -> None:
    for name in NAMES:
        experiment = load(name)
        if experiment.spec.tutorial is not None:
            is_lesson = "tutorial" in experiment.spec.tags
            assert (experiment.spec.workflow.completion.mode == "manual") is is_lesson
            for service in experiment.spec.tutorial.services:
                assert service.namespace == naming.build_base_name(experiment), name


async def complete(world: World, name: str, folder: Path) -> Result | None:
    """Run one experiment to its end, as a person would."""
    document = read(name)
    name = document["metadata"]["name"]
    created = await world.create(document)
    if created.spec.workflow.completion.mode == "manual":
        await world.until(
            name, lambda each: each.status.reason == "AwaitingResume", within_s=WITHIN_S
        )
        await world.client.patch(created, {"metadata": {"annotations": {RESUME: "true"}}})
    done = await world.cleaned(name, within_s=WITHIN_S)
    assert done.status.phase == "Complete", (name, done.status)
    assert done.status.hypothesis_result in ("", "validated"), (name, done.status)
    if (tutorial := done.status.tutorial_status) is not None:
        assert all(each.ready for each in tutorial.services), (name, tutorial)
    return decode((folder / name / "summary.json").read_bytes())


async def complete_all(names: list[str], folder: Path) -> None:
    async with running(results=Collector(Files(folder))) as world:
        await world.apply(*COMPONENTS, *TEMPLATES)
        for index in range(0, len(names), BATCH):
            async with asyncio.TaskGroup() as group:
                for name in names[index : index + BATCH]:
                    group.create_task(complete(world, name, folder), name=name)
        assert await world.leftovers() == []


async def test_some_shipped_experiments_complete_offline(tmp_path: Path) -> None:
    await complete_all(list(QUICKLY), tmp_path)
    baseline = decode((tmp_path / "http-baseline" / "summary.json").read_bytes())
    assert len(set(baseline.samples["http_p95_ms"])) == 5
    assert all(4.5 < value < 5.1 for value in baseline.samples["http_p95_ms"])


@pytest.mark.full
@pytest.mark.slow
async def test_all_shipped_experiments_complete_offline(tmp_path: Path) -> None:
    await complete_all(NAMES, tmp_path)
