"""The poll: lists the VMs of each hypervisor every 30 s to find changes made by others.

Only claims whose VM is not in its expected state are enqueued. VMs of ours whose claim is gone are
removed after a grace period; VMs of other owners are counted and not changed. A configured VM whose
claim has another VM was copied or restored by somebody: it is released, not removed.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import get_args

from quarterdeck.apis.hypervisor.claim import Phase
from quarterdeck.client.errors import ClientError
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.address_poll import poll_addresses
from quarterdeck.operators.machines.connection import Connection
from quarterdeck.operators.machines.connections import Connections
from quarterdeck.operators.machines.errors import HypervisorError
from quarterdeck.operators.machines.expected_machines import Expected, ExpectedMachines
from quarterdeck.operators.machines.machine import Power, PowerAction
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.plan.orphans import Orphan, find_orphans, is_copy
from quarterdeck.operators.machines.references import parse_key
from quarterdeck.runtime import Logger
from quarterdeck.wire.status import ApiError

SWEEP_S = 30.0
PHASES: tuple[str, ...] = get_args(Phase)


class VmPoller:
    """Polls every connected hypervisor."""

    def __init__(
        self,
        connections: Connections,
        expected_machines: ExpectedMachines,
        *,
        operator_uid: Callable[[], str],
        find_claim: Callable[[Key], Awaitable[tuple[str, int]]],
        enqueue: Callable[[Key], None],
        clock: Clock,
        metrics: MachineMetrics,
        log: Logger,
        may_collect: Callable[[], bool] = lambda: True,
    ) -> None:
        """`find_claim` reads the UID of a claim and the id of its VM from the server."""
        self._connections = connections
        self._expected_machines = expected_machines
        self._operator_uid = operator_uid
        self._find_claim = find_claim
        self._enqueue = enqueue
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._may_collect = may_collect
        self._first_seen: dict[Key, Mapping[int, float]] = {}
        self._failures: dict[Key, str] = {}
        self._stuck: dict[Key, Mapping[int, str]] = {}
        """Why VMs without a claim could not be removed, by id."""
        self._polling: set[Key] = set()

    async def run(self) -> None:
        """Poll until cancelled; a hypervisor that fails or hangs delays no other."""
        async with asyncio.TaskGroup() as polls:
            while True:
                await self._clock.sleep(SWEEP_S)
                self._forget_closed()
                for key, connection in self._connections.all.items():
                    if key not in self._polling:
                        self._polling.add(key)
                        polls.create_task(self._try(key, connection), name=f"vm-poll-{key}")

    async def _try(self, key: Key, connection: Connection) -> None:
        try:
            await self.poll(key, connection)
        except HypervisorError as error:
            self._report(key, str(error))
        except Exception as error:
            self._log.error("hypervisor cannot be read", cluster=str(key), error=error)
        else:
            self._failures.pop(key, None)
        finally:
            self._polling.discard(key)

    def _forget_closed(self) -> None:
        """Forget hypervisors whose connection is closed: their HypervisorCluster is deleted."""
        for key in (self._first_seen.keys() | self._failures.keys()) - self._connections.all.keys():
            self._first_seen.pop(key, None)
            self._failures.pop(key, None)
            self._stuck.pop(key, None)
            self._metrics.forget_cluster(str(key))

    def _report(self, key: Key, detail: str) -> None:
        """Log a failure as a warning once, then at debug level: each poll repeats it."""
        level = self._log.debug if self._failures.get(key) == detail else self._log.warning
        self._failures[key] = detail
        level("hypervisor cannot be read", cluster=str(key), detail=detail)

    async def poll(self, key: Key, connection: Connection) -> None:
        """Poll one hypervisor: changed VMs, orphans, and new addresses.

        Raises:
            HypervisorError: if it cannot be read.
        """
        view = await connection.get_view(max_age_s=0.0)
        operator_uid, expected_machines = self._operator_uid(), self._expected_machines
        well: dict[int, Expected] = {}
        phases: Counter[str] = Counter(dict.fromkeys(PHASES, 0))
        for expected in list(expected_machines.list_cluster(str(key))):
            phases[expected.phase] += 1
            if not expected_machines.is_as_expected(
                expected, view.vms.get(expected.vmid), operator_uid
            ):
                self._enqueue(expected.key)
            elif expected.verdict is not None:
                well[expected.vmid] = expected
        found = find_orphans(
            (vm for vm in view.vms.values() if vm.id not in well),
            operator_uid=operator_uid,
            find_vm=expected_machines.find_vm,
            first_seen=self._first_seen.get(key, {}),
            now=self._clock.monotonic(),
        )
        self._first_seen[key] = found.first_seen
        connection.foreign_vms = found.foreign
        self._metrics.set_phases(str(key), phases)
        self._metrics.set_inventory(str(key), orphans=len(found.orphans), foreign=found.foreign)
        if self._may_collect():
            await self._collect_all(key, connection, found.due)
        await poll_addresses(
            connection,
            view,
            list(well.values()),
            now=self._clock.monotonic(),
            enqueue=self._enqueue,
        )

    async def _collect_all(self, key: Key, connection: Connection, due: Sequence[Orphan]) -> None:
        """Remove VMs whose claim is gone; one that cannot be removed delays no other."""
        before, stuck = self._stuck.get(key, {}), {}
        for orphan in due:
            vm = orphan.vm
            try:
                await self._collect(connection, orphan)
            except (HypervisorError, ApiError, ClientError) as error:
                stuck[vm.id] = detail = str(error)
                level = self._log.debug if before.get(vm.id) == detail else self._log.warning
                level(
                    "cannot remove a VM without a claim; trying again",
                    cluster=str(key),
                    vm=vm.id,
                    detail=detail,
                )
        self._stuck[key] = stuck

    async def _collect(self, connection: Connection, orphan: Orphan) -> None:
        """Stop a VM whose claim is gone, or remove it if it is stopped; the next poll continues."""
        vm, owner = orphan
        uid, vmid = await self._find_claim(parse_key(owner.claim))
        if uid == owner.claim_uid and vmid == vm.id:
            return  # the claim exists after all; its reconcile adds it to `ExpectedMachines`
        if uid == owner.claim_uid and is_copy(orphan):
            await self._release(connection, orphan, vmid)
            return
        self._log.warning("removing a VM without a claim", vm=vm.id, name=vm.name, node=vm.node)
        if vm.power is Power.RUNNING:
            await connection.call(
                "power", lambda each: each.power(vm.id, PowerAction.OFF, owner=owner), node=vm.node
            )
        elif not vm.lock:
            await connection.call(
                "delete_vm", lambda each: each.delete_vm(vm.id, owner=owner), node=vm.node
            )
            self._metrics.record_deletion(connection.cluster, "orphan")

    async def _release(self, connection: Connection, orphan: Orphan, vmid: int) -> None:
        """Remove our tags and owner from a copy, so that it is not taken for a VM of ours."""
        vm, owner = orphan
        if vm.lock:
            return
        tags, text = ownership.build_released(vm, owner)
        await connection.call(
            "tag_vm",
            lambda each: each.tag_vm(vm.id, tags=tags, description=text, owner=owner),
            node=vm.node,
        )
        self._log.warning("released a copy of a VM", vm=vm.id, name=vm.name, original=vmid)
        self._expected_machines.add_copy(owner.claim_uid, vm.id)
        self._enqueue(parse_key(owner.claim))
