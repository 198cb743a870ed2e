"""Tasks of a simulated hypervisor; they take effect on the first call after their delay."""

import dataclasses
import heapq
import itertools
from collections.abc import Callable

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import TaskInfo, TaskRef, TaskState


@dataclasses.dataclass(slots=True)
class SimulatedTask:
    """A task: its effect happens when it ends."""

    ref: TaskRef
    effect: Callable[[], None]
    failure: str = ""
    state: TaskState = TaskState.RUNNING


class Tasks:
    """The tasks of one hypervisor, by id and by when they end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_id: dict[str, SimulatedTask] = {}
        self._due: list[tuple[float, int, SimulatedTask]] = []
        self._numbers = itertools.count(1)

    def begin(
        self, operation: str, node: str, effect: Callable[[], None], *, failure: str, delay_s: float
    ) -> TaskRef:
        """Start a task that ends after a delay; with a delay of 0 it ends at once."""
        ref = TaskRef(f"SIM:{node}:{next(self._numbers):08X}:{operation}:", node, operation)
        task = SimulatedTask(ref, effect, failure)
        self._by_id[ref.id] = task
        self._push(delay_s, task)
        self.settle()
        return ref

    def schedule(self, delay_s: float, effect: Callable[[], None]) -> None:
        """Schedule an effect that no caller waits for, such as the end of a boot."""
        self._push(delay_s, SimulatedTask(TaskRef(""), effect))

    def settle(self) -> None:
        """End the tasks that are due, in the order of their ends."""
        now = self._clock.monotonic()
        while self._due and self._due[0][0] <= now:
            _, _, task = heapq.heappop(self._due)
            task.effect()
            task.state = TaskState.FAILED if task.failure else TaskState.OK

    def read(self, ref: TaskRef) -> TaskInfo:
        """The state of a task. Raises TASK_UNKNOWN."""
        self.settle()
        task = self._by_id.get(ref.id)
        if task is None:
            raise make_error(Code.TASK_UNKNOWN, f"task {ref.id} not found")
        return TaskInfo(task.state, task.failure if task.state is TaskState.FAILED else "")

    def forget_ended(self) -> None:
        """Drop the records of tasks that have ended."""
        self.settle()
        self._by_id = {
            key: task for key, task in self._by_id.items() if task.state is TaskState.RUNNING
        }

    def _push(self, delay_s: float, task: SimulatedTask) -> None:
        at = self._clock.monotonic() + delay_s
        heapq.heappush(self._due, (at, next(self._numbers), task))
