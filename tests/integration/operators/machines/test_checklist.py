"""What the guidelines of the operator ask for beside its work: metrics, field managers, samples."""

import re
from pathlib import Path

import pytest
from tests.integration.operators.machines.world import (
    ENDPOINT,
    Fleet,
    HypervisorCluster,
    HypervisorMachineTemplate,
    MachineClaim,
    RunnerPool,
    World,
    open_world,
)

from quarterdeck.app.machines_samples import OUTSIDE_SAMPLES, SAMPLES
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.machines.drivers.simulator import FailureRule, FaultKind
from quarterdeck.operators.machines.errors import Code
from quarterdeck.runtime.observability import tracing

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop

ROOT = Path(__file__).parents[4]
POOL = {
    "templateRef": {"name": "small"},
    "workload": {"type": "github-actions"},
    "scaling": {"minReplicas": 1, "maxReplicas": 2},
}
FLEET = {"image": "small", "selector": {"app": "web"}, "replicas": 2}


async def _all_ready(world: World, count: int) -> bool:
    claims = await world.list_all(MachineClaim)
    return [each.status.phase for each in claims] == ["Ready"] * count


async def test_metric_families_of_the_checklist_have_values() -> None:
    async with open_world() as world, world.operator() as manager:
        fault = FailureRule(op="clone_vm", kind=FaultKind.ERROR, code=Code.UNAVAILABLE)
        world.lab.faults.add(fault)
        await world.set_up()
        await world.create(Fleet, "web", FLEET)
        await world.create(RunnerPool, "ci", POOL)
        await world.until(lambda: _all_ready(world, 3))
        await world.advance(31.0)
        registry = manager.metrics.registry
        page = registry.render().decode()
        cluster = ("default/lab",)
        assert registry.get_value("hyperfleet_vm_phase", *cluster, "Ready") == 3
        assert registry.get_value("hyperfleet_provider_errors_total", *cluster, "transient") == 1
        assert registry.get_value("hyperfleet_pool_runners", "default", "ci", "idle") == 1
        assert registry.get_value("hyperfleet_cluster_capacity", *cluster, "cpu", "total") == 192
        ready = 'cluster="default/lab",template="default/small",result="ready"'
        assert f"hyperfleet_vm_provision_seconds_count{{{ready}}} 3" in page
        assert 'op="clone_vm",code="ok"' in page
        assert 'op="clone_vm",code="Unavailable"' in page
        await world.delete(RunnerPool, "ci")
        await world.gone(RunnerPool, "ci")
        await world.until(lambda: "hyperfleet_pool_runners{" not in registry.render().decode())


async def test_every_metric_of_the_checklist_is_declared_and_every_declared_one_is_listed() -> None:
    page = (ROOT / "docs/reference/machines-checklist.md").read_text()
    listed = set(re.findall(r"hyperfleet_[a-z_]+", page))
    source = (ROOT / "src/quarterdeck/operators/machines/metrics.py").read_text()
    assert listed == set(re.findall(r'"(hyperfleet_[a-z_]+)"', source))


@pytest.mark.parametrize(
    "kind", [HypervisorCluster, HypervisorMachineTemplate, Fleet, RunnerPool, MachineClaim]
)
async def test_the_operator_writes_as_hyperfleet_controller_alone(kind: type) -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.create(Fleet, "web", FLEET)
        await world.create(RunnerPool, "ci", POOL)
        await world.until(lambda: _all_ready(world, 3))
        gvr: GVR = kind.KIND.gvr  # type: ignore[attr-defined]
        for found in await world.client.resource(gvr).list("default"):
            managers = {
                (each["manager"], each.get("subresource", ""))
                for each in found["metadata"]["managedFields"]
            }
            ours = {each for each in managers if each[0] == "hyperfleet-controller"}
            assert ("hyperfleet-controller", "status") in ours
            assert not [each for each in managers - ours if each[1] == "status"], managers


async def test_samples_are_accepted_and_those_of_the_simulator_become_ready() -> None:
    async with open_world() as world, world.operator():
        assert ENDPOINT == "mock://lab"
        for sample in (*SAMPLES, *OUTSIDE_SAMPLES):
            plural = f"{sample['kind'].lower()}s"
            group, _, version = sample["apiVersion"].rpartition("/")
            await world.client.resource(GVR(group, version, plural)).create(dict(sample))
        await world.until(lambda: _all_ready(world, 5))


async def test_spans_have_the_names_and_attributes_of_the_checklist() -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.Tracer(provider.get_tracer("test"))
    try:
        async with open_world() as world, world.operator():
            await world.set_up()
            await world.create(Fleet, "web", FLEET)
            await world.until(lambda: _all_ready(world, 2))
    finally:
        tracing._active.clear()
    spans = {span.name: dict(span.attributes or {}) for span in exporter.get_finished_spans()}
    assert spans["fleet.reconcile"] == {"fleet.name": "web", "fleet.namespace": "default"}
    for operation in ("clone_vm", "configure_vm", "power", "list_vms"):
        assert spans[f"hypervisor.{operation}"] == {
            "hypervisor.cluster": "default/lab",
            "hypervisor.provider": "mock",
            "hypervisor.operation": operation,
        }
