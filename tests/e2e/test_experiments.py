"""Experiments as a user meets them: `up` and kubectl, as the tutorial says."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "quarterdeck.cli")
FLAGS = ("--port", "--http-port", "--health-port", "--metrics-port", "--fleet-port")
PORTS = tuple(word for flag in FLAGS for word in (flag, "0"))
TUTORIAL = ROOT / "docs/tutorial/first-experiment.md"
SAMPLE = ROOT / "config/samples/experiments_v1alpha1_experiment.yaml"

pytestmark = pytest.mark.timeout(180)
Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    """kubectl on a running `up`."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    process = subprocess.Popen(
        [*COMMAND, "up", "--operators", "experiments", *PORTS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "Activity" not in (line := process.stdout.readline()):
        assert line, "up has ended"

    def run(*arguments: str) -> str:
        kubeconfig = str(tmp_path / ".quarterdeck" / "kubeconfig")
        done = subprocess.run(
            ["kubectl", "--kubeconfig", kubeconfig, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("wait", "--for=create", "component/k6-http-loadgen", "--timeout=60s")
    run("wait", "--for=create", "workflowtemplate/gateway-validation", "-n", "argo-workflows")
    yield run
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def wait(kubectl: Kubectl, name: str) -> str:
    """Wait until an experiment is over and cleaned up; its phase and reason."""
    cleaned = "--for=jsonpath={.status.resourcesCleaned}=true"
    kubectl("wait", cleaned, f"exp/{name}", "-n", "experiments", "--timeout=90s")
    path = "jsonpath={.status.phase} {.status.reason}"
    return kubectl("get", f"exp/{name}", "-n", "experiments", "-o", path)


def test_the_tutorial_works_as_it_says(kubectl: Kubectl, tmp_path: Path) -> None:
    manifest = re.search(r"```yaml\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert manifest is not None
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(manifest.group(1))
    second.write_text(manifest.group(1).replace("name: first", "name: second"))
    kubectl("apply", "-f", str(first))
    assert wait(kubectl, "first") == "Complete Complete"
    fault = "sim.illm.io/workflow-fail=fail"
    broken = kubectl("annotate", "-f", str(second), "--local", "-o", "yaml", fault)
    second.write_text(broken)
    kubectl("apply", "-f", str(second))
    assert wait(kubectl, "second") == "Failed WorkflowFailed"
    left = kubectl("get", "gkeclusters,applications.argoproj.io,workflows", "-A", "-o", "name")
    assert left == ""


def test_the_sample_applies_and_completes(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(SAMPLE))
    assert wait(kubectl, "gateway-tutorial") == "Complete Complete"
    table = kubectl("get", "experiments", "-n", "experiments")
    assert table.splitlines()[0].split() == ["NAME", "PHASE", "TARGETS", "WORKFLOW", "AGE"]
    assert table.splitlines()[1].split()[1:4] == ["Complete", "2", "Succeeded"]
