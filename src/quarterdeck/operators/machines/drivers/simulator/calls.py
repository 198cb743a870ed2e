"""One call of the simulator: recorded in the journal, and failed if a rule matches."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from quarterdeck.operators.machines.drivers.simulator.faults import Call, FailureRule, FaultKind
from quarterdeck.operators.machines.drivers.simulator.journal import Entry
from quarterdeck.operators.machines.drivers.simulator.world import FLAKINESS, Simulator
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import Owner

R = TypeVar("R")
Save = Callable[[], Awaitable[None]]
"""Saves what a call has changed, as a hypervisor does before it answers."""
NOBODY = Owner("", "", "", "")
_HANG_S = 3600.0


class Target(NamedTuple):
    """The operation of a call, and the VM and owner it is made for."""

    operation: str
    vmid: int = 0
    name: str = ""
    node: str = ""
    owner: Owner = NOBODY


class Caller:
    """Makes the calls of one operator, with one set of credentials."""

    def __init__(self, world: Simulator, token: str, save: Save | None = None) -> None:
        self._world = world
        self._token = token
        self._save = save

    async def call(self, target: Target, act: Callable[[FailureRule | None], R]) -> R:
        """Run the call, or fail it if a rule matches; record it in the journal in both cases."""
        result = "ok"
        try:
            try:
                return await self._act(target, act)
            finally:
                if self._save is not None:
                    await self._save()
        except HypervisorError as error:
            error.operation = error.operation or target.operation
            result = error.code.value
            raise
        finally:
            self._world.journal.add(
                Entry(
                    self._world.clock.monotonic(),
                    target.operation,
                    target.vmid,
                    target.name,
                    target.node,
                    target.owner.claim_uid,
                    target.owner.operator_uid,
                    result,
                )
            )

    def _fail_if_flaky(self, target: Target) -> None:
        """Fail some calls about machines whose template has the failure profile `flaky`."""
        vm = self._world.vms.get(target.vmid)
        is_flaky = vm is not None and vm.profile == "flaky"
        if is_flaky and self._world.random.random() < FLAKINESS:
            raise make_error(Code.LOCKED, f"can't lock file of VM {target.vmid}: got timeout")

    async def _act(self, target: Target, act: Callable[[FailureRule | None], R]) -> R:
        world = self._world
        if world.is_partitioned:
            raise make_error(Code.UNAVAILABLE, "the hypervisor cannot be reached")
        if world.token and world.token != self._token:
            raise make_error(Code.UNAUTHORIZED, "the hypervisor refuses the credentials")
        rule = world.faults.choose(Call(target.operation, target.name, target.node))
        if rule is None:
            self._fail_if_flaky(target)
            return act(None)
        match rule.kind:
            case FaultKind.PARTIAL | FaultKind.STALE_READ:
                return act(rule)
            case FaultKind.LOST_RESPONSE:
                act(None)
                raise make_error(Code.TIMEOUT, "the answer was lost")
            case FaultKind.TIMEOUT | FaultKind.HANG:
                is_hang = rule.kind is FaultKind.HANG
                await world.clock.sleep(_HANG_S if is_hang else rule.delay_s)
                raise make_error(Code.TIMEOUT, "no answer came")
            case FaultKind.AUTH_EXPIRED:
                raise make_error(Code.UNAUTHORIZED, "the ticket has expired")
            case FaultKind.LOCK:
                raise make_error(Code.LOCKED, "can't lock file: got timeout")
            case FaultKind.ERROR:
                raise make_error(rule.code, "injected failure")
