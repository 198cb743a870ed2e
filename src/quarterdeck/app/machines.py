"""Attaches the machines operator; in `up` with simulated hypervisors that outlive the process."""

import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.app import bootstrap
from quarterdeck.app.errors import StartError
from quarterdeck.app.host import Host
from quarterdeck.app.machines_samples import (
    FLEET,
    NEXT_IMAGE,
    OUTSIDE_SAMPLES,
    SAMPLE_FILES,
    SAMPLES,
)
from quarterdeck.app.simulator_file import SimulatorFile
from quarterdeck.meta.conditions import find
from quarterdeck.meta.identity import Key
from quarterdeck.operators import machines
from quarterdeck.operators.machines import simulation
from quarterdeck.operators.machines.drivers.simulator import Simulators, SimulatorSettings
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.runtime import get_logger
from quarterdeck.wire.status import ApiError, NotFound

if TYPE_CHECKING:
    from quarterdeck.runtime import Controller

__all__ = ["OUTSIDE_SAMPLES", "SAMPLES", "SAMPLE_FILES", "attach", "declare_controllers"]

NAME = "machines"
_STATE = "simulator.json"
_CHECK_INTERVAL_S = 1.0
_SYSTEM = "kube-system"


async def attach(host: Host) -> None:
    """Register the controllers, and simulated hypervisors for `provider: mock`."""
    settings = host.settings
    namespaces = tuple(name.strip() for name in settings.namespace.split(",") if name.strip())
    is_kept = host.is_embedded and not settings.in_memory
    simulators = Simulators(
        host.clock,
        SimulatorSettings(seed=1, scale=0.3),
        folder=host.folder if host.is_embedded else None,
    )
    operator = machines.register(
        host.manager,
        operator_uid=await find_operator_uid(host, namespaces),
        providers={"mock": simulators.open},
        namespaces=namespaces,
        folder=host.folder,
        config_namespace="" if host.is_embedded else os.environ.get("POD_NAMESPACE", ""),
    )
    operator.inviter = bootstrap.build_inviter(host.client)
    host.manager.add(simulation.build_controller(simulators))
    _poll(host)
    if host.is_embedded or NAME in settings.operators:
        await _listen(host, operator.metrics)
    if host.is_embedded:
        host.find_console = _build_find_console(host, simulators)
        await bootstrap.attach(host)
    if is_kept and host.folder is not None:
        file = SimulatorFile(simulators, host.folder / _STATE, clock=host.clock)
        file.load()
        simulators.save = file.save
    if host.is_embedded and settings.demo:
        _roll_demo_fleet(host)


def _build_find_console(
    host: Host, simulators: Simulators
) -> Callable[[Key], Awaitable[Path | str]]:
    """Build a function that finds consoles; its code is imported on first use."""

    async def find(claim: Key) -> Path | str:
        from quarterdeck.app.machine_consoles import ConsoleLocator

        providers = {"mock": simulators.open}
        locator = ConsoleLocator(
            host.client, clock=host.clock, folder=host.folder, providers=providers
        )
        return await locator.locate(claim)

    return find


async def _listen(host: Host, metrics: MachineMetrics) -> None:
    """Serve webhooks of CI systems; in `run` only if --operators names this operator."""
    from quarterdeck.services.runners.service import LIMITS, PATH, RunnerWebhooks

    service = RunnerWebhooks(host.client, host.clock, count=metrics.record_webhook_event)
    await host.serve(
        service.handle,
        port=host.settings.runner_webhook_port,
        flag="--runner-webhook-port",
        name="runners",
        purpose=f"events of CI systems, POST {PATH}",
        limits=LIMITS,
    )


def _poll(host: Host) -> None:
    """Poll CI systems for jobs, for pools that are configured for polling."""
    log = get_logger(NAME)

    async def run() -> None:
        from quarterdeck.kit import http
        from quarterdeck.services.runners.polling import Poller

        def warn(pool: str, problem: str) -> None:
            log.warning("cannot poll jobs of a CI system", pool=pool, detail=problem)

        async with http.Client() as client:
            await Poller(host.client, client, host.clock, warn=warn).run()

    host.manager.add_runnable("runner-polling", run)


def declare_controllers() -> "Sequence[Controller[Any]]":
    """The declarations of the controllers, from which permissions are derived; they never run."""
    simulators = Simulators(_no_clock())
    return (*machines.declare_controllers(), simulation.build_controller(simulators))


def _no_clock() -> Any:
    from quarterdeck.kit.clock import SystemClock

    return SystemClock()


async def find_operator_uid(host: Host, namespaces: Sequence[str]) -> str:
    """The ID that distinguishes our VMs from those of other operators; a restart keeps it.

    It is derived from the cluster's identity and the namespaces we watch: two operators that share
    a hypervisor, or a cluster, never take each other's VMs for their own.

    Raises:
        StartError: if the cluster's identity cannot be read.
    """
    try:
        identity = (await host.client.get(Namespace, _SYSTEM)).metadata.uid
    except ApiError as error:
        raise StartError(
            f"cannot read namespace {_SYSTEM}, whose UID identifies the VMs of this operator: "
            f"{error.message}"
        ) from error
    if not namespaces:
        return identity
    return str(uuid.uuid5(uuid.UUID(identity), ",".join(sorted(namespaces))))


def _roll_demo_fleet(host: Host) -> None:
    """Once the demo's fleet is complete, change its image, which starts a roll-out."""

    async def run() -> None:
        while not await _is_complete(host):
            await host.clock.sleep(_CHECK_INTERVAL_S)
        fleets = host.admin.resource(Fleet.KIND.gvr)
        patch = {"spec": {"image": NEXT_IMAGE}}
        await fleets.patch(FLEET, patch, namespace="default")
        if host.print_line is not None:
            host.print_line(f"  {host.clock.now():%H:%M:%S}  fleet {FLEET} rolls to {NEXT_IMAGE}")

    host.manager.add_runnable("machines-demo", run)


async def _is_complete(host: Host) -> bool:
    try:
        fleet = await host.client.get(Fleet, FLEET, "default")
    except NotFound:
        return False
    condition = find(fleet.status.conditions, "Progressing")
    return (
        condition is not None
        and condition.reason == "UpdateComplete"
        and fleet.status.available_replicas == fleet.spec.replicas
    )
