"""The workload of a machine: none, or a runner that ends the machine after one job."""

from collections.abc import Callable
from typing import Any

from quarterdeck.agents.machine.runner import (
    CONFIGURE_FAILED,
    RUN_FAILED,
    Runner,
    RunnerError,
    parse_runner_config,
)

CHECK_INTERVAL_S = 1.0
"""Seconds between two checks of the runner."""
REPORT_GRACE_S = 2.0
"""How long to wait after the last report before the machine is powered off."""


def run_standalone(
    document: dict[str, Any],
    *,
    wait: Callable[[float], bool],
    log: Callable[[str], None],
    power_off: Callable[[], None],
) -> int:
    """Run the runner of a file, without a bootstrap service; returns the exit code."""

    def end() -> int:
        power_off()
        return 0

    workload = Workload(lambda phase: log(f"phase {phase}"), wait, log, end)
    try:
        workload.prepare(document)
    except RunnerError as error:
        log(str(error))
        return error.code
    while (code := workload.wait(3600.0)) is None:
        pass
    return code


class Workload:
    """The runner of the machine, if it has one."""

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
        """Install and start the workload that the service has configured.

        Raises:
            RunnerError: if the configuration is invalid, or a step fails.
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

    def apply_directive(self, directive: str) -> None:
        """Start to drain if the directive is `drain`: the current job ends, and no other starts."""
        if directive != "drain" or self._is_draining:
            return
        self._is_draining = True
        self._log("drain requested: the runner takes no new jobs")
        if self._runner is None:
            self._report("Idle")

    def wait(self, seconds: float) -> int | None:
        """Wait; returns an exit code if the runner has ended or the agent stops, else None."""
        while seconds > 0:
            if self._runner is not None and (code := self._check_runner()) is not None:
                return code
            step_s = min(seconds, CHECK_INTERVAL_S) if self._runner is not None else seconds
            if self._wait(step_s):
                return 0
            seconds -= step_s
        return None

    def _check_runner(self) -> int | None:
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
        """Remove the ended runner, report its result, and end the machine."""
        runner.remove()
        self._runner = None
        self._log(f"the runner exited with code {code}")
        self._report("JobCompleted" if code == 0 or self._is_draining else "Failed")
        self._wait(REPORT_GRACE_S)
        ended = self._end()
        return ended if code == 0 or self._is_draining else RUN_FAILED
