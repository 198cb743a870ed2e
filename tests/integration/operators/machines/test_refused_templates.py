"""Templates that no machine can be made of say why, and become valid when that is mended."""

from typing import Any

import pytest
from tests.integration.operators.machines.world import (
    HypervisorCluster,
    HypervisorMachineTemplate,
    World,
    condition,
    open_world,
)

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop

SIZES = {"cpu": 1, "memory": "1Gi", "disk": "10Gi"}


async def wait_for_message(world: World, name: str, text: str) -> None:
    async def holds() -> bool:
        template = await world.get(HypervisorMachineTemplate, name)
        return text in condition(template, "TemplateValid").message

    await world.until(holds)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            {"hypervisorClusterRef": {"name": "other"}},
            "HypervisorCluster default/other not found",
            id="cluster",
        ),
        pytest.param(
            {"resources": {**SIZES, "memory": "0Gi"}},
            "spec.resources.memory: 0Gi must be",
            id="memory",
        ),
        pytest.param(
            {"resources": {**SIZES, "disk": "1Gi"}},
            "spec.resources.disk is 1Gi, but the template has 2 GiB",
            id="disk",
        ),
        pytest.param(
            {"resources": {**SIZES, "memory": "512Gi"}}, "no node is large enough", id="room"
        ),
        pytest.param(
            {"template": {"mock": {"templateName": "nothing"}}},
            "template nothing not found",
            id="absent",
        ),
    ],
)
async def test_template_says_why_no_machine_can_be_made(spec: dict[str, Any], text: str) -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.create_template("odd", **spec)
        await wait_for_message(world, "odd", text)
        assert not (await world.get(HypervisorMachineTemplate, "odd")).status.template_available


async def test_templates_of_one_name_are_ambiguous_until_one_goes() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.add_template(9001, "simulated")
        await world.create_template("twice", template={"mock": {"templateName": "simulated"}})
        await wait_for_message(world, "twice", "2 templates match simulated")
        world.lab.remove(9001)
        await wait_for_message(world, "twice", "exists and a machine fits")


async def test_template_waits_for_a_node_of_its_cluster() -> None:
    async with open_world() as world, world.operator():
        await world.set_up(nodes=["sim-1"])
        await wait_for_message(world, "small", "exists and a machine fits")
        world.lab.add_node("sim-9")
        await world.patch(HypervisorCluster, "lab", {"spec": {"nodes": ["sim-9"]}})
        await wait_for_message(world, "small", "exists and a machine fits")
