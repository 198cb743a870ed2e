"""The providers that the contract suite runs on."""

import contextlib
from collections.abc import Callable

import pytest
from tests.contract.hypervisor import proxmox_rig, qemu_rig, simulator_rig
from tests.contract.hypervisor.rig import Rig

OpenRig = Callable[[], contextlib.AbstractAsyncContextManager[Rig]]
RIGS: dict[str, OpenRig] = {
    "proxmox": proxmox_rig.open_rig,
    "qemu": qemu_rig.open_rig,
    "simulator": simulator_rig.open_rig,
}


@pytest.fixture(params=sorted(RIGS))
def open_rig(request: pytest.FixtureRequest) -> OpenRig:
    """Opens a provider at a hypervisor of the test's own."""
    return RIGS[request.param]
