"""The agent as a program: `python agent.pyz --config FILE`."""

import argparse
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from quarterdeck.agents.machine.agent import Agent, Environment
from quarterdeck.agents.machine.identity import Identity
from quarterdeck.agents.machine.programs import ProgramError
from quarterdeck.agents.machine.settings import SettingsError, load_settings, read_runner_file
from quarterdeck.agents.machine.workload import run_standalone

CONFIG = "/etc/hyperfleet/agent.json"
STATE = "/run/hyperfleet"
POWER_OFF = (
    "systemctl poweroff || shutdown -h now || poweroff -f || halt -p || echo o >/proc/sysrq-trigger"
)
"""Commands that power off most systems, the cleanest first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent; returns the exit code."""
    parser = argparse.ArgumentParser(prog="machine-agent", description=__doc__)
    parser.add_argument("--config", default=CONFIG, help="settings file written by cloud-init")
    parser.add_argument("--state-dir", default=STATE, help="folder of key and certificate")
    parser.add_argument("--tcti", default="", help="how tpm2-tools reach the TPM")
    parser.add_argument(
        "--power-off", default=POWER_OFF, help="command that powers the machine off"
    )
    chosen = parser.parse_args(arguments)
    return run_agent(chosen.config, chosen.state_dir, tcti=chosen.tcti, power_off=chosen.power_off)


def run_agent(config: str, state_dir: str, *, tcti: str, power_off: str) -> int:
    """Run until a signal or a directive; returns 1 for an invalid file, else as `Agent.run`."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    environment = Environment(
        wait=stop.wait,
        now=lambda: datetime.now(UTC),
        log=_log,
        power_off=lambda: _power_off(power_off),
        settings_file=Path(config),
        tcti=tcti,
    )
    try:
        runner = read_runner_file(Path(config))
        if runner is not None:
            return run_standalone(
                runner, wait=environment.wait, log=environment.log, power_off=environment.power_off
            )
        settings = load_settings(Path(config))
        return Agent(settings, Identity(Path(state_dir)), environment).run()
    except (SettingsError, ProgramError, OSError) as error:
        _log(str(error))
        return 1


def _power_off(command: str) -> None:
    subprocess.run(["/bin/sh", "-c", command], check=False)


def _log(text: str) -> None:
    sys.stderr.write(f"machine-agent: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
