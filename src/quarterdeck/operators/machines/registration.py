"""Registers the operator with a manager: its controllers, their triggers, and the poll."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import decode
from quarterdeck.operators.machines.declarations import build_controllers
from quarterdeck.operators.machines.mappings import (
    BY_CLUSTER,
    BY_TEMPLATE,
)
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.ports import OpenProvider
from quarterdeck.operators.machines.records import (
    HEADS_ONLY,
    OURS_ONLY,
    ConfigRecord,
    SecretHead,
)
from quarterdeck.operators.machines.shared_parts import Machines
from quarterdeck.operators.machines.vm_poller import VmPoller
from quarterdeck.runtime import (
    Controller,
    Manager,
    get_logger,
)
from quarterdeck.runtime.reconcile.client import build_path
from quarterdeck.wire.status import NotFound


def register(
    manager: Manager,
    *,
    operator_uid: str,
    providers: Mapping[str, OpenProvider] | None = None,
    namespaces: Sequence[str] = (),
    rng: random.Random | None = None,
    folder: Path | None = None,
    config_namespace: str = "",
) -> Machines:
    """Run the operator in a manager. `operator_uid` distinguishes its VMs from others.

    Feature flags are read from ConfigMaps of `config_namespace` only, if it is given.
    """
    machines = Machines(
        operator_uid=operator_uid,
        clock=manager.clock,
        providers=providers,
        metrics=MachineMetrics(manager.metrics.registry),
        rng=rng,
        folder=folder,
        config_namespace=config_namespace,
    )
    manager.set_cache_scope(
        SecretHead, msgspec.structs.replace(HEADS_ONLY, namespaces=tuple(namespaces))
    )
    manager.set_cache_scope(
        ConfigRecord, msgspec.structs.replace(OURS_ONLY, namespaces=tuple(namespaces))
    )

    def enqueue_users(key: Key) -> None:
        for template in manager.informers.list(
            HypervisorMachineTemplate, index=(BY_CLUSTER, str(key))
        ):
            manager.enqueue("hypervisormachinetemplate", template.key)
            for claim in manager.informers.list(
                MachineClaim, index=(BY_TEMPLATE, str(template.key))
            ):
                manager.enqueue("machineclaim", claim.key)

    for controller in build_controllers(
        machines, claims=lambda: manager.informers.list(MachineClaim), enqueue_users=enqueue_users
    ):
        manager.add(controller)
    poll = _make_poller(manager, machines)

    async def run() -> None:
        try:
            await poll.run()
        finally:
            await machines.connections.aclose()

    manager.add_runnable("machines-vm-poller", run)
    return machines


def declare_controllers() -> tuple[Controller[Any], ...]:
    """The declarations without a manager, from which permissions are generated."""
    machines = Machines(operator_uid="", clock=SystemClock())
    return build_controllers(machines, claims=list, enqueue_users=lambda key: None)


def _make_poller(manager: Manager, machines: Machines) -> VmPoller:
    async def find_claim(key: Key) -> tuple[str, int]:
        try:
            claim = decode(MachineClaim, await manager.api.get(build_path(MachineClaim, key)))
        except NotFound:
            return "", 0
        ref = claim.status.vm_ref
        return claim.uid, ref.vm_id if ref is not None else 0

    return VmPoller(
        machines.connections,
        machines.expected_machines,
        operator_uid=lambda: machines.operator_uid,
        find_claim=find_claim,
        enqueue=lambda key: manager.enqueue("machineclaim", key),
        clock=manager.clock,
        metrics=machines.metrics,
        log=get_logger("machines"),
        may_collect=lambda: machines.features.flags.orphan_collection,
    )
