"""Copies that the operator makes, as they stand in API servers: golden, volatile parts cut."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.operators.experiments.world import World, experiment, hub, target

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.client import Client
from quarterdeck.kit import json, yaml
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import encode
from quarterdeck.operators.experiments.drivers.result_stores import ConfigMaps
from quarterdeck.operators.experiments.drivers.targets import to_config
from quarterdeck.operators.experiments.kubeconfig import parse, read_secret
from quarterdeck.operators.experiments.results import Collector

FOLDER = Path(__file__).parents[3] / "golden" / "experiments"
HANG = {"sim.illm.io/workflow-fail": "hang"}
TAILNET = {"observability": {"enabled": True, "transport": "tailscale"}}
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def expect(name: str, found: Secret | ConfigMap) -> None:
    """Compare with `name.yaml`; values of Secrets are cut to their keys."""
    document = json.decode(encode(found))
    metadata = {key: value for key, value in document["metadata"].items() if key not in _VOLATILE}
    labels = metadata.get("labels") or {}
    if "experiments.illm.io/uid" in labels:
        metadata["labels"] = {**labels, "experiments.illm.io/uid": "<uid>"}
    if "ownerReferences" in metadata:
        owners = metadata["ownerReferences"]
        metadata["ownerReferences"] = [{**each, "uid": "<uid>"} for each in owners]
    data: Mapping[str, Any] = {key: f"<{key}>" for key in sorted(document.get("data") or {})}
    text = yaml.dump({**document, "metadata": metadata, "data": dict(data)})
    path = FOLDER / f"{name}.yaml"
    if os.environ.get("QUARTERDECK_UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text


async def prepare(world: World) -> None:
    await world.template("smoke")
    await world.component("web")
    await world.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "operator-oauth", "namespace": "tailscale"},
            "stringData": {"client_id": "id", "client_secret": "secret"},
        }
    )


@pytest.mark.parametrize("source", ["target", "hub"])
async def test_copies_of_kubeconfigs_and_credentials_are_the_golden_ones(source: str) -> None:
    async with hub() as world, world.simulators(), world.operator():
        await prepare(world)
        load = target("load", "vcluster" if source == "target" else "hub", "web", depends=["app"])
        lesson = experiment(
            "demo",
            target("app", "gke", "web", **TAILNET),
            load,
            annotations=HANG,
            tutorial={"exposeKubeconfig": True},
        )
        await world.create(lesson)
        await world.phase("demo", "Running")
        client = world.client
        exposed = await client.get(Secret, "demo-app-kubeconfig", "experiments")
        if source == "hub":
            expect("kubeconfig-exposed", exposed)
            shared = await client.get(Secret, "app-cluster-kubeconfig", "demo")
            expect("kubeconfig-shared-on-hub", shared)
        async with Client(config_of(exposed), clock=SystemClock()) as there:
            copied = await there.get(Secret, "operator-oauth", "tailscale")
            expect("tailnet-credentials", copied)
        if source == "target":
            own = await client.get(Secret, "demo-load-kubeconfig", "experiments")
            async with Client(config_of(own), clock=SystemClock()) as there:
                shared = await there.get(Secret, "app-cluster-kubeconfig", "demo")
                expect("kubeconfig-shared-on-target", shared)


def config_of(secret: Secret) -> Any:
    return to_config(parse(read_secret(secret.data)))


async def test_the_configmap_with_results_is_the_golden_one() -> None:
    async with hub() as world, world.simulators():
        async with world.operator(results=Collector(ConfigMaps(world.client))):
            await world.template("smoke")
            await world.create(experiment("demo"))
            await world.cleaned("demo")
        expect("results", await world.client.get(ConfigMap, "demo-results", "experiments"))
