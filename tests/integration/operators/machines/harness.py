"""One operator's claims on one simulated hypervisor, without an API server: thousands of runs.

The reconcilers are the real ones, with the real context and status draft. What is left out is the
queue and the server: `objects` stands for what is stored, and a crash throws away everything else.
"""

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, cast

from quarterdeck.apis.hypervisor.claim import MachineClaim, MachineClaimSpec
from quarterdeck.apis.hypervisor.cluster import (
    HypervisorCluster,
    HypervisorClusterSpec,
    HypervisorClusterStatus,
)
from quarterdeck.apis.hypervisor.jobs import (
    Job,
    build_record_labels,
    build_record_name,
    find_busy_runners,
    read_jobs,
)
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.conditions import Condition
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import ObjectMeta, decode, replace, with_metadata
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.claim import Claims, Shared
from quarterdeck.operators.machines.claim_deletion import Deletion
from quarterdeck.operators.machines.conditions import CLAIM_TYPES
from quarterdeck.operators.machines.connections import Connections
from quarterdeck.operators.machines.drivers.simulator import Simulator, SimulatorProvider
from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM
from quarterdeck.operators.machines.expected_machines import ExpectedMachines
from quarterdeck.operators.machines.machine import Power
from quarterdeck.operators.machines.machinespec import build_runner_name
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.plan.claim import Step
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings
from quarterdeck.operators.machines.providers import Providers
from quarterdeck.operators.machines.records import ConfigRecord
from quarterdeck.operators.machines.vm_poller import VmPoller
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting, get_logger

CLUSTER = Key("default", "lab")
_LOG = get_logger("faults")


class Crash(BaseException):
    """The process dies."""


class CrashingProvider:
    """The simulator, with a process that dies after chosen calls."""

    def __init__(self, world: Simulator, harness: "Harness") -> None:
        self._provider = SimulatorProvider(world)
        self._harness = harness

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._provider, name)
        if not asyncio.iscoroutinefunction(found) or name == "aclose":
            return found

        async def call(*arguments: Any, **named: Any) -> Any:
            try:
                return await found(*arguments, **named)
            finally:
                self._harness.count_call()

        return call


class Objects:
    """What reconciles read: stands in for the caches."""

    def __init__(self, harness: "Harness") -> None:
        self._harness = harness

    async def find(self, kind: type[Any], name: str, namespace: str = "") -> Any:
        """An object by name."""
        return self._harness.fixed.get((kind, name))

    async def delete(self, obj: MachineClaim, **options: Any) -> None:
        """Ask for a claim's deletion."""
        self._harness.delete(obj.metadata.name)


class NoEvents:
    """Drops events."""

    def record(self, *arguments: Any, **named: Any) -> None:
        """Drop an event."""


class Harness:
    """An operator that can die at any point, and what it has stored."""

    def __init__(
        self, clock: VirtualClock, lab: Simulator, *, seed: int = 0, operator: str = "operator-1"
    ) -> None:
        self.clock = clock
        self.lab = lab
        self.operator = operator
        self.random = random.Random(seed)
        self.claims: dict[str, MachineClaim] = {}
        self.fixed: dict[tuple[type[Any], str], Any] = {}
        self.calls = 0
        self.writes = 0
        self.crashes = 0
        self.crash_after_calls: set[int] = set()
        self.crash_after_writes: set[int] = set()
        self.untouchable: set[str] = set()
        """UUIDs of VMs that somebody else has or has marked."""
        self._due: dict[str, float] = {}
        self._next_sweep = 30.0
        self._make_fixed()
        self._check_removals()
        self._boot()

    # --- the operator

    def _boot(self) -> None:
        """Start a process: nothing is remembered."""
        metrics = MachineMetrics()

        async def open_provider(settings: ProviderSettings) -> Hypervisor:
            return cast("Hypervisor", CrashingProvider(self.lab, self))

        self.connections = Connections(
            providers=Providers({"mock": open_provider}), clock=self.clock, metrics=metrics
        )
        self.expected_machines = ExpectedMachines()
        shared = Shared(
            connections=self.connections,
            operator_uid=lambda: self.operator,
            claims=lambda: list(self.claims.values()),
            metrics=metrics,
            rng=self.random,
            expected_machines=self.expected_machines,
        )
        self._claims, self._deletion = Claims(shared), Deletion(shared)
        self._sweep = VmPoller(
            self.connections,
            self.expected_machines,
            operator_uid=lambda: self.operator,
            find_claim=self._find_claim,
            enqueue=lambda key: self.wake(key.name),
            clock=self.clock,
            metrics=metrics,
            log=_LOG,
        )
        for name in self.claims:
            self.wake(name)
        self._is_connected = False

    async def _find_claim(self, key: Key) -> tuple[str, int]:
        claim = self.claims.get(key.name)
        ref = claim.status.vm_ref if claim is not None else None
        return (claim.uid, ref.vm_id if ref else 0) if claim is not None else ("", 0)

    async def _connect(self) -> None:
        cluster = self.fixed[HypervisorCluster, "lab"]
        await self.connections.open(cluster, self._context(cluster))
        self._is_connected = True

    def _context(self, obj: Any) -> Any:
        return Context(
            obj,
            client=cast("Any", Objects(self)),
            clock=self.clock,
            events=NoEvents(),
            log=_LOG,
            reconcile_id="0",
            attempt=0,
            owned_conditions=CLAIM_TYPES,
        )

    def count_call(self) -> None:
        """A call has reached the hypervisor, and the process may die now."""
        self.calls += 1
        if self.calls in self.crash_after_calls:
            raise Crash

    # --- what users do

    def create(self, name: str, **spec: Any) -> None:
        """A claim."""
        self.claims[name] = MachineClaim(
            metadata=ObjectMeta(
                name=name,
                namespace="default",
                uid=str(uuid.UUID(int=self.random.getrandbits(128))),
                generation=1,
                creation_timestamp=rfc3339.format_time(self.clock.now()),
            ),
            spec=MachineClaimSpec(template_ref=ObjectReference(name="small"), **spec),
        )
        self.wake(name)

    def delete(self, name: str) -> None:
        """Ask for a claim's deletion."""
        claim = self.claims.get(name)
        if claim is not None and not claim.is_deleting:
            now = rfc3339.format_time(self.clock.now())
            self.claims[name] = with_metadata(claim, deletion_timestamp=now)
            self.wake(name)

    def set_jobs(self, pool: str, *jobs: Job) -> None:
        """What the service has noted for a pool."""
        data = {f"job-{job.id}": json.encode(job).decode() for job in jobs}
        self.fixed[ConfigRecord, build_record_name(pool)] = ConfigRecord(
            metadata=ObjectMeta(
                name=build_record_name(pool), namespace="default", labels=build_record_labels(pool)
            ),
            data=data,
        )
        for name in self.claims:
            self.wake(name)

    def wake(self, name: str) -> None:
        """Reconcile a claim soon."""
        self._due[name] = self.clock.monotonic()

    # --- time

    async def run(self, seconds: float, *, until: Callable[[], bool] = lambda: False) -> None:
        """Let the operator work for some time, or until something holds."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end and not until():
            await self.step(end)

    async def step(self, end: float) -> None:
        """Do what is due next, or let time pass."""
        now = self.clock.monotonic()
        due = [name for name, at in self._due.items() if at <= now and name in self.claims]
        try:
            if not self._is_connected:
                await self._drive(self._connect())
            if due:
                name = self.random.choice(sorted(due))
                del self._due[name]
                await self._drive(self._reconcile(name))
            elif self._next_sweep <= now:
                self._next_sweep = now + 30.0
                await self._drive(self._sweep_once())
            else:
                times = [at for name, at in self._due.items() if name in self.claims]
                await self.clock.advance(max(0.001, min([*times, self._next_sweep, end]) - now))
        except Crash:
            self.crashes += 1
            self._boot()

    async def _drive(self, work: Awaitable[None]) -> None:
        """Run to the end, moving the clock when the work sleeps."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.sleep(0)
            if not task.done() and self.clock.next_deadline is not None:
                await self.clock.advance(self.clock.next_deadline - self.clock.monotonic())
        await task

    async def _sweep_once(self) -> None:
        from quarterdeck.operators.machines.errors import HypervisorError

        try:
            connection = self.connections.find(CLUSTER)
            assert connection is not None
            await self._sweep.poll(CLUSTER, connection)
        except HypervisorError:
            pass

    async def _reconcile(self, name: str) -> None:
        claim = self.claims[name]
        ctx = self._context(claim)
        after_s: float | None = None
        is_final = False
        try:
            if claim.is_deleting:
                await self._deletion.run(claim, ctx)
                is_final = True
            else:
                result = await self._claims.reconcile(claim, ctx)
                after_s = result.seconds if isinstance(result, RequeueAfter) else None
        except Waiting as error:
            after_s = error.after_s
        except Stalled:
            pass
        self._store(name, ctx, is_final=is_final)
        if after_s is not None and name in self.claims:
            at = self.clock.monotonic() + after_s
            self._due[name] = min(at, self._due.get(name, at))

    def _store(self, name: str, ctx: Any, *, is_final: bool) -> None:
        if is_final:
            key = self.claims.pop(name).key
            self._due.pop(name, None)
            self.writes += 1
            if self.writes in self.crash_after_writes:
                raise Crash
            self.expected_machines.drop(key)
            return
        current = self.claims[name]
        if ctx.status.current != current.status:
            self.claims[name] = replace(current, status=ctx.status.current)
            self.writes += 1
            if self.writes in self.crash_after_writes:
                raise Crash

    # --- what must never happen

    def _check_removals(self) -> None:
        """Judge every removal and every stop by an operator at the moment it takes effect."""
        remove, set_power = self.lab.remove, self.lab.set_power
        self.power_behind = set_power

        def check_remove(vmid: int) -> None:
            vm = self.lab.vms.get(vmid)
            if vm is not None and vm.lock == "destroy":
                self._check_owner(vm)
                self._check_idle(vm)
            remove(vmid)

        def check_power(vm: SimulatedVM, power: Power, at: float) -> None:
            if power is Power.STOPPED:
                self._check_idle(vm)
            set_power(vm, power, at)

        self.lab.remove = check_remove  # type: ignore[method-assign]
        self.lab.set_power = check_power  # type: ignore[method-assign]

    def _check_owner(self, vm: SimulatedVM) -> None:
        assert vm.uuid not in self.untouchable, f"VM {vm.id} ({vm.name}) is not ours"
        assert ownership.read_owner(self.lab.build_vm_info(vm)) is not None, (
            f"VM {vm.id} has no owner"
        )

    def _check_idle(self, vm: SimulatedVM) -> None:
        owner = ownership.read_owner(self.lab.build_vm_info(vm))
        for claim in self.claims.values():
            if owner is not None and claim.metadata.uid == owner.claim_uid:
                assert not self._is_busy(claim), f"VM {vm.id} ({vm.name}) is a busy runner"

    def _is_busy(self, claim: MachineClaim) -> bool:
        pool = claim.spec.runner_pool_ref
        record = self.fixed.get((ConfigRecord, build_record_name(pool.name))) if pool else None
        return record is not None and build_runner_name(claim) in find_busy_runners(
            read_jobs(record.data), self.clock.now()
        )

    def can_work(self, claim: MachineClaim) -> bool:
        """Whether a runner can be given a job: it is up, and not about to be powered down."""
        ref = claim.status.vm_ref
        vm = self.lab.vms.get(ref.vm_id) if ref is not None else None
        is_up = vm is not None and vm.power is Power.RUNNING and claim.status.ready_since != ""
        going = (Step.POWER_DOWN, Step.SHUTDOWN, Step.STOP, Step.DESTROY)
        is_going = claim.status.phase == "Terminating" and claim.status.step in going
        return claim.spec.runner_pool_ref is not None and is_up and not is_going

    # --- what is looked at

    def our_vms(self) -> list[Any]:
        """VMs that carry this operator's marks in full."""
        found = []
        for vm in self.lab.list_vm_infos():
            owner = ownership.read_owner(vm)
            if owner is None or owner.operator_uid != self.operator:
                continue
            if ownership.is_owned(vm, owner._replace(is_tagged=False)):
                found.append(vm)
        return found

    def phases(self) -> dict[str, str | None]:
        """Phases by name."""
        return {name: claim.status.phase for name, claim in self.claims.items()}

    def _make_fixed(self) -> None:
        ready = Condition(type="Ready", status="True", reason="ConnectionSuccessful")
        self.fixed[HypervisorCluster, "lab"] = HypervisorCluster(
            metadata=ObjectMeta(name="lab", namespace="default", uid="c", generation=1),
            spec=HypervisorClusterSpec(
                provider="mock",
                endpoint="mock://lab",
                nodes=tuple(self.lab.nodes),
                default_storage="s",
                default_network="n",
                max_concurrent_operations=50,
            ),
            status=HypervisorClusterStatus(conditions=(ready,)),
        )
        template = {
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
            "kind": "HypervisorMachineTemplate",
            "metadata": {"name": "small", "namespace": "default", "uid": "t", "generation": 1},
            "spec": {
                "hypervisorClusterRef": {"name": "lab"},
                "template": {"mock": {}},
                "resources": {"cpu": 1, "memory": "1Gi", "disk": "10Gi"},
                "bootstrap": {"method": "none"},
                "cloudInit": {"userData": "packages: [curl]"},
            },
            "status": {"templateAvailable": True},
        }
        decoded = decode(HypervisorMachineTemplate, json.encode(template))
        self.fixed[HypervisorMachineTemplate, "small"] = decoded
