"""An API server, a simulated hypervisor and the operator between them, on virtual time.

Nothing here touches a socket or the real clock.
"""

import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from virtual_time import VirtualTime

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.conditions import Condition, find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import Object
from quarterdeck.operators import machines
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.simulator import (
    Simulator,
    Simulators,
    SimulatorSettings,
)
from quarterdeck.operators.machines.invitation import Inviter
from quarterdeck.runtime import Manager
from quarterdeck.server.api import ApiServer
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import open_memory
from quarterdeck.wire.status import NotFound

API_HOST = "localhost"
ENDPOINT = "mock://lab"
OPERATOR = "11111111-2222-3333-4444-555555555555"
FAST = SimulatorSettings(seed=1, nodes=3, scale=0.0, boot_s=(2.0, 2.0))
K = TypeVar("K", bound=Object)


class World(VirtualTime):
    """Everything a scenario needs."""

    def __init__(self, clock: VirtualClock, client: Client, settings: SimulatorSettings) -> None:
        super().__init__(clock, turns=200, limit_s=300.0)
        self.client = client
        self.simulators = Simulators(clock, settings)
        self.manager: Manager | None = None

    @property
    def lab(self) -> Simulator:
        """The hypervisor."""
        return self.simulators.get(ENDPOINT)

    @contextlib.asynccontextmanager
    async def operator(
        self,
        *,
        uid: str = OPERATOR,
        api: Any = None,
        providers: Mapping[str, Any] | None = None,
        inviter: Inviter | None = None,
    ) -> AsyncIterator[Manager]:
        """The operator at work."""
        manager = Manager(
            api or self.client,
            name="test",
            clock=self.clock,
            rng=random.Random(1),
            graceful_shutdown_timeout_s=0.1,
        )
        operator = machines.register(
            manager,
            operator_uid=uid,
            providers={"mock": self.simulators.open, **(providers or {})},
            rng=random.Random(2),
        )
        operator.inviter = inviter
        self.manager = manager
        async with manager.running():
            yield manager
        self.manager = None

    # --- objects

    async def create(
        self, kind: type[Object], name: str, spec: Mapping[str, Any], **metadata: Any
    ) -> dict[str, Any]:
        """Create an object by the names of the manifest."""
        return await self.client.resource(kind.KIND.gvr).create(
            {
                "apiVersion": kind.KIND.api_version,
                "kind": kind.KIND.kind,
                "metadata": {"name": name, "namespace": "default", **metadata},
                "spec": dict(spec),
            }
        )

    async def patch(self, kind: type[Object], name: str, patch: Mapping[str, Any]) -> None:
        """Merge-patch an object."""
        await self.client.resource(kind.KIND.gvr).patch(name, dict(patch), namespace="default")

    async def delete(self, kind: type[Object], name: str) -> None:
        """Ask for an object's deletion."""
        await self.client.resource(kind.KIND.gvr).delete(name, "default")

    async def get(self, kind: type[K], name: str) -> K:
        """An object as it is."""
        return await self.client.get(kind, name, "default")

    async def list_all(self, kind: type[K]) -> list[K]:
        """Objects as they are."""
        return list(await self.client.list(kind))

    async def set_up(self, *, attestation: str = "", **cluster: Any) -> None:
        """A cluster and a template on it."""
        nodes = list(self.lab.nodes)
        await self.create(
            HypervisorCluster,
            "lab",
            {
                "provider": "mock",
                "endpoint": ENDPOINT,
                "nodes": nodes,
                "defaultStorage": "local-lvm",
                "defaultNetwork": "vmbr0",
                "maxConcurrentOperations": 100,
                **cluster,
            },
        )
        await self.create_template("small", attestation=attestation)

    async def create_template(self, name: str, *, attestation: str = "", **spec: Any) -> None:
        """A template of the lab."""
        more: dict[str, Any] = {"attestation": {"method": attestation}} if attestation else {}
        await self.create(
            HypervisorMachineTemplate,
            name,
            {
                "hypervisorClusterRef": {"name": "lab"},
                "template": {"mock": {}},
                "resources": {"cpu": 1, "memory": "1Gi", "disk": "10Gi"},
                "bootstrap": {"method": "none"},
                **more,
                **spec,
            },
        )

    async def claim(self, name: str = "m1", **spec: Any) -> None:
        """A claim of the template."""
        metadata = {key: spec.pop(key) for key in ("annotations", "labels") if key in spec}
        await self.create(
            MachineClaim, name, {"templateRef": {"name": "small"}, **spec}, **metadata
        )

    # --- time

    async def phase(self, phase: str, name: str = "m1", within_s: float = 300.0) -> MachineClaim:
        """Wait until a claim is in a phase."""

        async def holds() -> MachineClaim | None:
            claim = await self.get(MachineClaim, name)
            return claim if claim.status.phase == phase else None

        try:
            found: MachineClaim = await self.until(holds, within_s=within_s)
        except AssertionError:
            claim = await self.get(MachineClaim, name)
            raise AssertionError(f"waited for {phase}: {claim.status}") from None
        return found

    async def gone(self, kind: type[Object], name: str, within_s: float = 300.0) -> None:
        """Wait until an object is gone."""

        async def holds() -> bool:
            try:
                await self.get(kind, name)
            except NotFound:
                return True
            return False

        await self.until(holds, within_s=within_s)

    async def events(self) -> list[str]:
        """The reasons of all events."""
        listed = await self.client.resource(GVR("", "v1", "events")).list("default")
        return [str(item["reason"]) for item in listed]

    @property
    def vms(self) -> dict[str, Any]:
        """VMs by name."""
        return {vm.name: vm for vm in self.lab.list_vm_infos()}

    def ours(self) -> list[str]:
        """Names of VMs that this operator made."""
        found = []
        for vm in self.lab.list_vm_infos():
            owner = ownership.read_owner(vm)
            if owner is not None and owner.operator_uid == OPERATOR:
                found.append(vm.name)
        return sorted(found)


def condition(obj: Any, type_: str = "Ready") -> Condition:
    """A condition, or a blank one."""
    found = find(obj.status.conditions, type_)
    return found if found is not None else Condition(type=type_, status="Unknown")


@contextlib.asynccontextmanager
async def open_world(settings: SimulatorSettings = FAST) -> AsyncIterator[World]:
    """A world with an API server that knows the kinds."""
    clock = VirtualClock()
    network = http.MemoryNetwork(clock=clock)
    store = open_memory(derive=decode_object_meta)
    api = ApiServer(store, clock=clock, rng=random.Random(3))
    await api.start()
    server = http.Server(api.handle, clock=clock)
    url = network.serve(server, API_HOST)
    async with (
        Supervisor("world") as tasks,
        Client(ClusterConfig(server=url), clock=clock, network=network) as client,
    ):
        tasks.spawn(api.run(), name="api")
        world = World(clock, client, settings)
        await definitions.install(client.raw, KINDS)
        try:
            yield world
        finally:
            api.stop()
            await server.close()
    await store.close()


__all__ = [
    "ENDPOINT",
    "FAST",
    "Fleet",
    "HypervisorCluster",
    "HypervisorMachineTemplate",
    "MachineClaim",
    "RunnerPool",
    "World",
    "condition",
    "open_world",
]
