"""Experiments as a user meets them: `up` and kubectl, as the tutorial says."""

import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from free_ports import FREE_PORTS
from measured import PYTHON

ROOT = Path(__file__).parents[2]
COMMAND = (*PYTHON, "-m", "quarterdeck.cli")
TUTORIAL = ROOT / "docs/tutorial/first-experiment.md"
SAMPLE = ROOT / "config/samples/experiments_v1alpha1_experiment.yaml"

pytestmark = pytest.mark.slow
Kubectl = Callable[..., str]


class Up:
    """`quarterdeck up` in a folder, and kubectl for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*COMMAND, "up", "--operators", "experiments", *FREE_PORTS],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        while "Activity" not in (line := self.process.stdout.readline()):
            assert line, "up has ended"

    def kubectl(self, *arguments: str) -> str:
        kubeconfig = str(self.folder / ".quarterdeck" / "kubeconfig")
        done = subprocess.run(
            ["kubectl", "--kubeconfig", kubeconfig, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_catalog(self) -> None:
        self.kubectl("wait", "--for=create", "component/k6-http-loadgen", "--timeout=240s")
        template = ("workflowtemplate/gateway-validation", "-n", "argo-workflows")
        self.kubectl("wait", "--for=create", *template, "--timeout=240s")

    def end(self, sign: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(sign)
        self.process.communicate(timeout=240)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Up]]:
    """Starts `up` in one folder, as often as asked."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    started: list[Up] = []

    def run() -> Up:
        started.append(Up(tmp_path))
        return started[-1]

    yield run
    for each in started:
        if each.process.poll() is None:
            each.end()


@pytest.fixture
def kubectl(start: Callable[[], Up]) -> Kubectl:
    """kubectl on a running `up`."""
    up = start()
    up.wait_catalog()
    return up.kubectl


def wait(kubectl: Kubectl, name: str) -> str:
    """Wait until an experiment is over and cleaned up; its phase and reason."""
    cleaned = "--for=jsonpath={.status.resourcesCleaned}=true"
    kubectl("wait", cleaned, f"exp/{name}", "-n", "experiments", "--timeout=240s")
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


def test_a_shipped_tutorial_waits_for_its_reader(start: Callable[[], Up], tmp_path: Path) -> None:
    up = start()
    up.wait_catalog()
    up.kubectl("apply", "-f", str(ROOT / "experiments/gateway-tutorial.yaml"))
    waiting = "--for=jsonpath={.status.reason}=AwaitingResume"
    up.kubectl("wait", waiting, "exp/gateway-tutorial", "-n", "experiments", "--timeout=240s")
    path = "jsonpath={.status.tutorialStatus.services[*].ready}"
    ready = up.kubectl("get", "exp/gateway-tutorial", "-n", "experiments", "-o", path)
    assert ready == "true true"
    report = tmp_path / "report.xml"
    resume = ("resume", "gateway-tutorial", "-n", "experiments", "--junit", str(report))
    done = subprocess.run(
        [*COMMAND, "experiments", *resume],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert "results: configmap://experiments/gateway-tutorial-results" in done.stdout
    assert 'failures="0"' in report.read_text()


def test_a_run_goes_on_after_up_was_killed(start: Callable[[], Up], tmp_path: Path) -> None:
    manifest = re.search(r"```yaml\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert manifest is not None
    slow = "metadata:\n  annotations: {sim.illm.io/application-delay: 3s}\n  name: first"
    file = tmp_path / "first.yaml"
    file.write_text(manifest.group(1).replace("metadata:\n  name: first", slow))
    up = start()
    up.wait_catalog()
    up.kubectl("apply", "-f", str(file))
    ready = "--for=jsonpath={.status.targets[0].phase}=Ready"
    up.kubectl("wait", ready, "exp/first", "-n", "experiments", "--timeout=240s")
    up.end(signal.SIGKILL)
    again = start()
    assert wait(again.kubectl, "first") == "Complete Complete"
