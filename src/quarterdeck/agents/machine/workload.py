"""What the machine is for: nothing of ours, or one job of a CI system and then the end."""

from collections.abc import Callable
from typing import Any

from quarterdeck.agents.machine.runner import (
    CONFIGURE_FAILED,
    RUN_FAILED,
    Runner,
    RunnerError,
    parse_runner_config,
)

LOOK_S = 1.0
"""How often the runner is looked at."""
FAREWELL_S = 2.0
"""How long reports may take to leave the machine before it is switched off."""


def run_alone(
    document: dict[str, Any],
    *,
    wait: Callable[[float], bool],
    log: Callable[[str], None],
    power_off: Callable[[], None],
) -> int:
    """Run the runner of a file, without a bootstrap service; the exit code."""

    def end() -> int:
        power_off()
        return 0

    workload = Workload(lambda phase: log(f"phase {phase}"), wait, log, end)
    try:
        workload.prepare(document)
    except RunnerError as error:
        log(str(error))
        return error.code
    while (code := workload.rest(3600.0)) is None:
        pass
    return code


class Workload:
    """The runner of the machine, if it has one; without one there is only waiting."""

    def __init__(
        self,
        report: Callable[[str], None],
        wait: Callable[[float], bool],
        log: Callable[[str], None],
        end: Callable[[], int],
    ) -> None:
        self._report = report
        self._wait = wait
        self._log = log
        self._end = end
        self._runner: Runner | None = None
        self._is_draining = False
        self._is_busy = False
        self._is_stopping = False

    def prepare(self, document: dict[str, Any]) -> None:
        """Install and start what the service says.

        Raises:
            RunnerError: if it cannot be done.
        """
        try:
            config = parse_runner_config(document)
        except ValueError as error:
            text = f"invalid configuration: {error}"
            raise RunnerError(CONFIGURE_FAILED, text) from error
        if config is None:
            return
        runner = Runner(config)
        self._log(f"installing runner {config.name}")
        runner.prepare()
        runner.start()
        self._runner = runner
        self._log(f"runner {config.name} is waiting for a job")

    def follow(self, directive: str) -> None:
        """Take no new work when told to drain; work under way goes on."""
        if directive != "drain" or self._is_draining:
            return
        self._is_draining = True
        self._log("drain requested: the runner takes no new jobs")
        if self._runner is None:
            self._report("Idle")

    def rest(self, seconds: float) -> int | None:
        """Wait; the exit code of the agent if the machine is done, or told to stop."""
        while seconds > 0:
            if self._runner is not None and (code := self._look()) is not None:
                return code
            step_s = min(seconds, LOOK_S) if self._runner is not None else seconds
            if self._wait(step_s):
                return 0
            seconds -= step_s
        return None

    def _look(self) -> int | None:
        runner = self._runner
        assert runner is not None
        if (code := runner.poll()) is not None:
            return self._finish(runner, code)
        is_busy = runner.is_busy()
        if is_busy != self._is_busy:
            self._is_busy = is_busy
            self._report("Busy" if is_busy else "Idle")
        if self._is_draining and not is_busy and not self._is_stopping:
            self._is_stopping = True
            self._log("stopping the idle runner")
            runner.stop()
        return None

    def _finish(self, runner: Runner, code: int) -> int:
        """The job is done: remove what was installed, say so, and end the machine."""
        runner.remove()
        self._runner = None
        self._log(f"the runner exited with code {code}")
        self._report("JobCompleted" if code == 0 or self._is_draining else "Failed")
        self._wait(FAREWELL_S)
        ended = self._end()
        return ended if code == 0 or self._is_draining else RUN_FAILED
