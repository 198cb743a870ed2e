"""Whatever fails, and wherever the operator dies: no orphan VM, no foreign VM destroyed."""

import random

import pytest
from tests.integration.operators.machines.harness import Harness

from quarterdeck.apis.hypervisor.jobs import Job
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.simulator import (
    FailureRule,
    FaultKind,
    Simulator,
    SimulatorSettings,
)
from quarterdeck.operators.machines.errors import Code
from quarterdeck.operators.machines.machine import Owner, Power, VMSpec
from quarterdeck.operators.machines.machinespec import build_runner_name

GIB = 1024**3
OPERATIONS = (
    "reserve_id",
    "validate_template",
    "list_nodes",
    "list_vms",
    "clone_vm",
    "configure_vm",
    "inject_cloud_init",
    "power",
    "task_status",
    "get_vm",
    "delete_vm",
)
SMALL = SimulatorSettings(seed=3, nodes=2, scale=0.1, boot_s=(1.0, 2.0))


def make(seed: int = 0, settings: SimulatorSettings = SMALL) -> Harness:
    clock = VirtualClock()
    return Harness(clock, Simulator(clock, settings), seed=seed)


async def live_and_die(harness: Harness, *, heal_s: float = 600.0) -> None:
    """A claim from nothing to Ready or Failed, then to gone; then time for the poll."""
    harness.create("m1")
    done = ("Ready", "Failed")
    await harness.run(heal_s, until=lambda: harness.phases()["m1"] in done)
    harness.delete("m1")
    await harness.run(3600.0, until=lambda: not harness.claims)
    harness.lab.faults.clear()
    await harness.run(7200.0, until=lambda: not harness.claims)
    await harness.run(1500.0, until=lambda: not harness.our_vms())


@pytest.mark.parametrize("kind", list(FaultKind))
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_fault_at_every_operation_leaves_nothing_behind(
    operation: str, kind: FaultKind
) -> None:
    for nth in (1, 2, 3):
        harness = make(nth)
        harness.lab.faults.add(FailureRule(op=operation, kind=kind, nth=nth, delay_s=5.0))
        await live_and_die(harness)
        assert harness.claims == {}
        assert harness.our_vms() == []


@pytest.mark.parametrize("kind", list(FaultKind))
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_faults_that_last_end_in_ready_or_failed_and_nothing_is_left(
    operation: str, kind: FaultKind
) -> None:
    harness = make(7)
    rule = FailureRule(op=operation, kind=kind, times=8, delay_s=5.0)
    harness.lab.faults.add(rule)
    await live_and_die(harness, heal_s=1200.0)
    assert harness.claims == {}
    assert harness.our_vms() == []


@pytest.mark.parametrize("code", list(Code))
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_error_of_every_operation_leaves_nothing_behind(
    operation: str, code: Code
) -> None:
    for nth, times in ((1, 1), (0, 3)):
        harness = make(nth)
        harness.lab.faults.add(FailureRule(op=operation, code=code, nth=nth, times=times))
        await live_and_die(harness)
        assert harness.claims == {}
        assert harness.our_vms() == []


async def _count() -> tuple[int, int]:
    harness = make()
    await live_and_die(harness)
    return harness.calls, harness.writes


async def test_crash_after_every_call_and_every_write_converges() -> None:
    calls, writes = await _count()
    assert calls > 8
    assert writes > 8
    for number in range(1, calls + 1):
        harness = make()
        harness.crash_after_calls = {number}
        await live_and_die(harness)
        assert (harness.crashes, harness.claims, harness.our_vms()) == (1, {}, []), number
    for number in range(1, writes + 1):
        harness = make()
        harness.crash_after_writes = {number}
        await live_and_die(harness)
        assert (harness.crashes, harness.claims, harness.our_vms()) == (1, {}, []), number


async def test_crash_after_each_pair_of_calls_still_makes_one_vm() -> None:
    calls, _ = await _count()
    for number in range(1, calls):
        harness = make()
        harness.crash_after_calls = {number, number + 2}
        harness.create("m1")
        await harness.run(600.0, until=lambda: harness.phases()["m1"] == "Ready")  # noqa: B023
        assert harness.phases() == {"m1": "Ready"}
        assert len(harness.our_vms()) == 1


class Outsiders:
    """People and operators who share the hypervisor."""

    def __init__(self, harness: Harness, rng: random.Random) -> None:
        self._harness = harness
        self._lab = harness.lab
        self._random = rng
        self._number = 0
        self.untouchable: set[str] = set()
        """UUIDs of VMs that must never be destroyed by us."""

    def act(self) -> None:
        """Do something behind the operator's back."""
        ours = [vm for vm in self._lab.vms.values() if not vm.is_template]
        # a hypervisor refuses to change what it is working on
        own = [vm for vm in ours if vm.uuid not in self.untouchable and not vm.lock]
        match self._random.choice(("make", "delete", "stop", "rename", "retag", "reuse", "forget")):
            case "make":
                self._make(self._random.randrange(100, 110))
            case "forget":
                self._lab.forget_tasks()
            case action if own:
                self._change(action, self._random.choice(own))
            case _:
                pass

    def _change(self, action: str, vm: object) -> None:
        vmid, lab = vm.id, self._lab  # type: ignore[attr-defined]
        found = lab.vms[vmid]
        match action:
            case "delete":
                lab.remove(vmid)
            case "stop":
                self._harness.power_behind(found, Power.STOPPED, 0.0)
            case "rename":
                found.name = "database"
                self.untouchable.add(found.uuid)
            case "retag":
                found.tags = ("production",)
                self.untouchable.add(found.uuid)
            case "reuse":
                lab.remove(vmid)
                self._make(vmid)

    def _make(self, vmid: int) -> None:
        """A VM of another operator, or of nobody."""
        if vmid in self._lab.vms:
            return
        self._number += 1
        owner = Owner("operator-2", f"claim-{self._number}", "default/m1", "m1")
        description = ownership.describe(owner) if self._random.random() < 0.5 else "by hand"
        spec = VMSpec("m1", 1, GIB, 10 * GIB)
        vm = self._lab.make_vm(vmid, spec, node="sim-1", description=description)
        vm.tags = ownership.build_owner_tags(owner) if description != "by hand" else ()
        self.untouchable.add(vm.uuid)


async def run_schedule(seed: int) -> None:
    """One random life of several machines, with everything going wrong at once."""
    rng, work = random.Random(seed), random.Random(seed + 1_000_000)
    scale = rng.choice((0.0, 0.1, 1.0))
    settings = SimulatorSettings(seed=seed, nodes=2, scale=scale, boot_s=(0.5, 3.0))
    harness = make(seed, settings)
    lab, outsiders = harness.lab, Outsiders(harness, rng)
    harness.untouchable = outsiders.untouchable
    for _ in range(rng.randrange(4)):
        lab.faults.add(
            FailureRule(
                op=rng.choice(OPERATIONS),
                kind=rng.choice(list(FaultKind)),
                times=rng.randrange(1, 4),
                probability=rng.choice((0.3, 1.0)),
                delay_s=5.0,
            )
        )
    harness.crash_after_calls = {rng.randrange(1, 60) for _ in range(rng.randrange(4))}
    harness.crash_after_writes = {rng.randrange(1, 60) for _ in range(rng.randrange(4))}
    for number in range(rng.randrange(1, 4)):
        pool = ObjectReference(name="ci") if rng.random() < 0.3 else None
        harness.create(f"m{number}", runner_pool_ref=pool)
    for _ in range(rng.randrange(1, 8)):
        await harness.run(rng.uniform(0.0, 20.0))
        action = rng.random()
        if action < 0.5:
            outsiders.act()
        elif action < 0.7 and harness.claims:
            harness.delete(rng.choice(sorted(harness.claims)))
        elif action < 0.8 and harness.claims:
            _set_busy(harness, rng)
        if work.random() < 0.5:
            _set_busy(harness, work)
    await _work_while_deleting(harness, work)
    harness.set_jobs("ci")
    for name in list(harness.claims):
        harness.delete(name)
    await harness.run(2400.0, until=lambda: not harness.claims)
    lab.faults.clear()
    await harness.run(7200.0, until=lambda: not harness.claims)
    await harness.run(2000.0, until=lambda: not _left(harness, outsiders))
    assert harness.claims == {}, f"seed {seed}: {harness.phases()}"
    assert _left(harness, outsiders) == [], f"seed {seed}"


async def _work_while_deleting(harness: Harness, rng: random.Random) -> None:
    """Delete runners, and give jobs to those that can still take one, again and again."""
    runners = [each.metadata.name for each in harness.claims.values() if each.spec.runner_pool_ref]
    for name in runners:
        harness.delete(name)
    for _ in range(rng.randrange(20) if runners else 0):
        await harness.run(rng.choice((0.001, 0.001, 0.01, 0.5, 5.0)))
        if rng.random() < 0.3:
            _set_busy(harness, rng)
        elif rng.random() < 0.3:
            harness.set_jobs("ci")


def _left(harness: Harness, outsiders: Outsiders) -> list[str]:
    return [vm.name for vm in harness.our_vms() if vm.uuid not in outsiders.untouchable]


def _set_busy(harness: Harness, rng: random.Random) -> None:
    """One runner of the pool works, the others do not."""
    runners = [claim for claim in harness.claims.values() if harness.can_work(claim)]
    if runners:
        runner = build_runner_name(rng.choice(runners))
        harness.set_jobs("ci", Job(id="1", status="in_progress", runner=runner))


@pytest.mark.parametrize("block", range(4))
async def test_random_schedules_leave_nothing_and_touch_nothing_foreign(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        await run_schedule(seed)


@pytest.mark.full
@pytest.mark.timeout(7200)
async def test_ten_thousand_random_schedules_leave_nothing_behind() -> None:
    for seed in range(1000, 11_000):
        await run_schedule(seed)


async def test_two_operators_share_a_hypervisor_without_touching_each_other() -> None:
    clock = VirtualClock()
    lab = Simulator(clock, SMALL)
    first = Harness(clock, lab, seed=1, operator="operator-1")
    second = Harness(clock, lab, seed=2, operator="operator-2")
    for number in range(4):
        first.create(f"m{number}")
        second.create(f"m{number}")
    for _ in range(4000):
        await first.step(clock.monotonic() + 0.5)
        await second.step(clock.monotonic() + 0.5)
        if {*first.phases().values(), *second.phases().values()} == {"Ready"}:
            break
    assert {*first.phases().values(), *second.phases().values()} == {"Ready"}
    assert (len(first.our_vms()), len(second.our_vms())) == (4, 4)
    for name in list(first.claims):
        first.delete(name)
    await first.run(600.0, until=lambda: not first.claims)
    assert (len(first.our_vms()), len(second.our_vms())) == (0, 4)


async def test_busy_runner_is_not_destroyed_whatever_happens() -> None:
    for seed in range(10):
        harness = make(seed)
        harness.create("m1", runner_pool_ref=ObjectReference(name="ci"))
        await harness.run(600.0, until=lambda: harness.phases()["m1"] == "Ready")  # noqa: B023
        runner = build_runner_name(harness.claims["m1"])
        harness.set_jobs("ci", Job(id="1", status="in_progress", runner=runner))
        harness.crash_after_calls = {harness.calls + number for number in (1, 3)}
        harness.delete("m1")
        await harness.run(3600.0)
        assert len(harness.our_vms()) == 1
        harness.set_jobs("ci", Job(id="1", status="completed", runner=runner))
        await harness.run(600.0, until=lambda: not harness.claims)  # noqa: B023
        assert harness.our_vms() == []


async def test_vm_retagged_before_its_claim_noted_the_tags_is_left_alone() -> None:
    for step in ("Clone", "Configure"):
        harness = make()
        harness.create("m1")
        await harness.run(600.0, until=lambda: _is_at(harness, step))  # noqa: B023
        (vm,) = [each for each in harness.lab.vms.values() if not each.is_template]
        vm.tags, vm.lock = ("production",), ""
        harness.untouchable.add(vm.uuid)
        harness.delete("m1")
        await harness.run(7200.0)
        assert harness.claims == {}
        assert harness.lab.vms[vm.id] is vm


def _is_at(harness: Harness, step: str) -> bool:
    """Whether the claim is at a step and its VM exists."""
    has_vm = any(not vm.is_template for vm in harness.lab.vms.values())
    return has_vm and harness.claims["m1"].status.step == step


async def test_runner_that_gets_a_job_after_its_drain_finishes_it() -> None:
    harness = make()
    harness.create("m1", runner_pool_ref=ObjectReference(name="ci"))
    await harness.run(600.0, until=lambda: harness.phases()["m1"] == "Ready")
    runner = build_runner_name(harness.claims["m1"])
    harness.delete("m1")
    await harness.run(600.0, until=lambda: harness.phases()["m1"] == "Terminating")
    assert harness.can_work(harness.claims["m1"])
    harness.set_jobs("ci", Job(id="1", status="in_progress", runner=runner))
    await harness.run(3600.0)
    assert [vm.power for vm in harness.our_vms()] == [Power.RUNNING]
    harness.set_jobs("ci", Job(id="1", status="completed", runner=runner))
    await harness.run(600.0, until=lambda: not harness.claims)
    assert harness.our_vms() == []
