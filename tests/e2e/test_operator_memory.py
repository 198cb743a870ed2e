"""Each operator alone, as the chart runs it, stays well below the memory limit of its pod."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from free_ports import RUN_FREE_PORTS

from quarterdeck.kit import yaml

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "quarterdeck.cli")
GROUPS = {
    "applications": "cloudnative_",
    "pipelines": "fleetmanagement_",
    "clusters": "clusterpulse_",
    "machines": "hypervisor_",
    "experiments": "experiments_",
}
Serve = Callable[..., AbstractContextManager[Path]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]


@pytest.mark.parametrize("operator", sorted(GROUPS))
def test_an_operator_with_the_samples_fits_its_pod(
    operator: str, serve: Serve, tmp_path: Path
) -> None:
    with serve(tmp_path, "--simulate-workloads") as kubeconfig:
        apply(kubeconfig, call("crds", "--operators", operator))
        namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: experiments}\n"
        samples = sorted((ROOT / "config/samples").glob(f"{GROUPS[operator]}*.yaml"))
        texts = [each.read_text(encoding="utf-8") for each in samples]
        apply(kubeconfig, "\n---\n".join([namespace, *texts]))
        used = measure(operator, kubeconfig)
        print(f"{operator}: {used} MiB")
        assert used < read_limit_mib(operator) * 0.9


def call(*arguments: str) -> str:
    return subprocess.run([*COMMAND, *arguments], check=True, capture_output=True, text=True).stdout


def apply(kubeconfig: Path, text: str) -> None:
    command = [*COMMAND, "apply", "-f", "-", "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def measure(operator: str, kubeconfig: Path) -> int:
    """The resident memory of a process that is ready and has worked on the samples, in MiB."""
    flags = ["--operators", operator, *RUN_FREE_PORTS]
    process = subprocess.Popen(
        [*COMMAND, "run", *flags, "--kubeconfig", str(kubeconfig), "--no-leader-elect"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=kubeconfig.parent,
        env={**os.environ, "LOG_FORMAT": "json", "MALLOC_ARENA_MAX": "2"},
    )
    try:
        wait_until_at_rest(process)
        text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmHWM:\s+(\d+) kB", text)
        assert found is not None
        return int(found.group(1)) // 1024
    finally:
        process.terminate()
        process.communicate()


def wait_until_at_rest(process: "subprocess.Popen[str]") -> None:
    """Wait until the caches are filled, and then until nothing is worked on for a second."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "manager started" in line:
            break
    else:
        raise AssertionError("it ended: " + "".join(lines))
    before, now = -1, read_ticks(process.pid)
    while now - before > 5:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        before, now = now, read_ticks(process.pid)


def read_ticks(pid: int) -> int:
    """The processor time of a process, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def read_limit_mib(operator: str) -> int:
    """The limit of memory in the chart's values."""
    values = yaml.load((ROOT / "charts/quarterdeck/values.yaml").read_text(encoding="utf-8"))
    text = str(values["operators"][operator]["resources"]["limits"]["memory"])
    number, is_gib = int(text[:-2]), text.endswith("Gi")
    return number * (1024 if is_gib else 1)
