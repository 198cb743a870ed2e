"""Controls of a simulated hypervisor as data: failure rules, timing, and actions of others.

The same documents come from tests, from `quarterdeck hypervisor` and from ConfigMaps.
"""

import math
from collections.abc import Sequence
from inspect import iscoroutinefunction
from typing import Any, Literal, TypeVar, get_args

import msgspec

from quarterdeck.operators.machines.drivers.simulator.faults import FailureRule, FaultKind
from quarterdeck.operators.machines.drivers.simulator.settings import SimulatorSettings
from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM, Simulator
from quarterdeck.operators.machines.machine import Power
from quarterdeck.operators.machines.ports import Hypervisor

T = TypeVar("T")
ActionName = Literal[
    "kill-node",
    "revive-node",
    "power-off",
    "delete",
    "rename",
    "retag",
    "partition",
    "heal",
    "rotate-credentials",
    "forget-tasks",
]
ACTIONS: tuple[str, ...] = get_args(ActionName)


class InvalidControl(ValueError):
    """Raised when a control cannot be carried out; the message has the cause."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One action; its id ensures that it runs once."""

    id: str
    action: ActionName
    node: str = ""
    vm: str = ""
    """Name or id of a VM."""
    value: str = ""
    """New name, tags separated by commas, or token."""


def parse_rules(document: Any) -> tuple[FailureRule, ...]:
    """Failure rules from plain data.

    Raises:
        InvalidControl: naming the field.
    """
    operations = ("*", *list_operations())
    for index, each in enumerate(document if isinstance(document, list) else ()):
        if isinstance(each, dict):
            _check_choice(f"rules[{index}].op", each.get("op", "*"), operations)
            _check_choice(f"rules[{index}].kind", each.get("kind", "error"), tuple(FaultKind))
    return _convert(document or [], tuple[FailureRule, ...])


def list_operations() -> tuple[str, ...]:
    """The calls of a hypervisor that failure rules may name."""
    found = (name for name in dir(Hypervisor) if iscoroutinefunction(getattr(Hypervisor, name)))
    return tuple(sorted(name for name in found if name != "aclose"))


def parse_actions(document: Any) -> tuple[Action, ...]:
    """Actions from plain data.

    Raises:
        InvalidControl: naming the field.
    """
    for index, each in enumerate(document if isinstance(document, list) else ()):
        if isinstance(each, dict):
            _check_choice(f"actions[{index}].action", each.get("action"), ACTIONS)
            if each.get("action") == "rename" and not each.get("value"):
                raise InvalidControl(f"actions[{index}].value is empty: a VM needs a name")
    return _convert(document or [], tuple[Action, ...])


def parse_settings(document: Any, settings: SimulatorSettings) -> SimulatorSettings:
    """Settings with changed latencies, from plain data: `latencies`, `scale`, `boot_s`.

    Raises:
        InvalidControl: naming the field.
    """
    allowed = {"latencies", "scale", "boot_s"}
    if not isinstance(document, dict) or not set(document) <= allowed:
        raise InvalidControl(f"timing must be a map with {', '.join(sorted(allowed))} only")
    plain, changed = msgspec.to_builtins(settings), document.get("latencies", {})
    if not isinstance(changed, dict):
        raise InvalidControl("latencies must be a map of operations to ranges of seconds")
    latencies = {**plain["latencies"], **changed}
    found = _convert({**plain, **document, "latencies": latencies}, SimulatorSettings)
    if not 0 <= found.scale < math.inf:
        raise InvalidControl(f"scale: {found.scale} must be at least 0")
    for name, (low, high) in {"boot_s": found.boot_s, **found.latencies}.items():
        if not 0 <= low <= high < math.inf:
            raise InvalidControl(f"{name}: {low}-{high} must be a range of seconds, such as 1-3")
    return found


def perform(world: Simulator, action: Action) -> None:
    """Perform an action.

    Raises:
        InvalidControl: if it names a node or VM that does not exist.
    """
    match action.action:
        case "kill-node":
            _find_node(world, action.node).is_online = False
        case "revive-node":
            _revive(world, action.node)
        case "power-off":
            world.set_power(_find_vm(world, action.vm), Power.STOPPED, 0.0)
        case "delete":
            world.remove(_find_vm(world, action.vm).id)
        case "rename":
            vm = _find_vm(world, action.vm)
            vm.name = action.value
            world.mark_changed(vm.id)
        case "retag":
            vm = _find_vm(world, action.vm)
            vm.tags = tuple(filter(None, action.value.split(",")))
            world.mark_changed(vm.id)
        case "partition" | "heal":
            world.is_partitioned = action.action == "partition"
        case "rotate-credentials":
            world.token = action.value
        case "forget-tasks":
            world.forget_tasks()
    world.mark_changed()


def _revive(world: Simulator, name: str) -> None:
    """Bring a node online again, with its VMs stopped."""
    node = _find_node(world, name)
    if not node.is_online:
        node.is_online = True
        for vm in world.vms.values():
            if vm.node == name and not vm.is_template:
                world.set_power(vm, Power.STOPPED, 0.0)


def _find_node(world: Simulator, name: str) -> Any:
    if name not in world.nodes:
        raise InvalidControl(f"node {name!r} not found; available: {', '.join(world.nodes)}")
    return world.nodes[name]


def _find_vm(world: Simulator, name: str) -> SimulatedVM:
    for vm in world.vms.values():
        if not vm.is_template and name in (vm.name, str(vm.id)):
            return vm
    names = sorted(vm.name for vm in world.vms.values() if not vm.is_template)
    raise InvalidControl(f"VM {name!r} not found; available: {', '.join(names) or 'none'}")


def _check_choice(field: str, value: object, choices: Sequence[str]) -> None:
    if isinstance(value, str) and value not in choices:
        raise InvalidControl(f"{field}: unknown value {value!r}; available: {', '.join(choices)}")


def _convert(document: Any, type_: type[T]) -> T:
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError as error:
        raise InvalidControl(str(error)) from error
