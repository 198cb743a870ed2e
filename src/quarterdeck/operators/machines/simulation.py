"""Controls of simulated hypervisors by ConfigMap: failure rules, timing, and actions done once.

apiVersion: v1
kind: ConfigMap
metadata:
  name: simulator
  labels: {hyperfleet.io/config: simulator}
data:
  endpoint: mock://lab
  rules: '[{op: clone_vm, kind: partial, times: 3}]'
  timing: '{scale: 0.1, boot_s: [1, 2]}'
  actions: '[{id: a1, action: kill-node, node: sim-1}]'
"""

from collections.abc import Sequence
from typing import Any

from quarterdeck.kit import yaml
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.drivers.simulator.controls import (
    Action,
    InvalidControl,
    parse_actions,
    parse_rules,
    parse_settings,
    perform,
)
from quarterdeck.operators.machines.drivers.simulator.world import Simulator
from quarterdeck.operators.machines.records import SIMULATOR, ConfigRecord
from quarterdeck.runtime import Context, Controller

DEFAULT_ENDPOINT = "mock://lab"


class Controls:
    """Applies the controls in ConfigMaps to simulated hypervisors."""

    def __init__(self, simulators: Simulators) -> None:
        self._simulators = simulators
        self._rules: dict[Key, str] = {}

    async def reconcile(self, record: ConfigRecord, ctx: Context[ConfigRecord]) -> None:
        """Apply rules and timing, and perform the actions that are new."""
        if record.purpose != SIMULATOR:
            return
        world = self._simulators.get(record.data.get("endpoint", DEFAULT_ENDPOINT))
        try:
            self._take_over(record, world)
            actions = parse_actions(_read(record, "actions"))
        except InvalidControl as error:
            ctx.event("InvalidControl", str(error), warning=True)
            return
        for action in _choose_new(world, record.key, actions):
            self._perform(world, action, ctx)
        if self._simulators.save is not None:
            await self._simulators.save()

    def _perform(self, world: Simulator, action: Action, ctx: Context[ConfigRecord]) -> None:
        """Perform an action; a failure is reported, and the others continue."""
        try:
            perform(world, action)
        except InvalidControl as error:
            ctx.event("InvalidControl", str(error), warning=True)
        else:
            ctx.log.info("simulator action done", action=action.action, id=action.id)

    def _take_over(self, record: ConfigRecord, world: Simulator) -> None:
        text = record.data.get("rules", "")
        if self._rules.get(record.key) != text:
            rules = parse_rules(_read(record, "rules"))
            world.faults.clear()
            world.faults.add(*rules)
            self._rules[record.key] = text
        if timing := _read(record, "timing"):
            world.settings = parse_settings(timing, world.settings)


def build_controller(simulators: Simulators) -> Controller[ConfigRecord]:
    """The declaration of the controller."""
    return Controller(
        reconcile=Controls(simulators).reconcile,
        for_=ConfigRecord,
        name="simulator",
        ready=None,
        workers=1,
    )


def _choose_new(world: Simulator, key: Key, actions: Sequence[Action]) -> list[Action]:
    """Choose actions not performed yet and record them as performed; forget removed ones."""
    named = {f"{key} {action.id}": action for action in actions}
    earlier = {each for each in world.performed if each.partition(" ")[0] == str(key)}
    if earlier != named.keys():
        world.performed = (world.performed - earlier) | named.keys()
        world.mark_changed()
    return [action for mark, action in named.items() if mark not in earlier]


def _read(record: ConfigRecord, key: str) -> Any:
    try:
        return yaml.load(record.data[key]) if key in record.data else None
    except yaml.YamlError as error:
        raise InvalidControl(f"data.{key} is not YAML: {error}") from error
