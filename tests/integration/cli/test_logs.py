"""`quarterdeck logs` against a server that simulates workloads."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.cli.main import run
from quarterdeck.client import Client, load_config
from quarterdeck.meta.identity import GVR
from quarterdeck.testing import eventually

pytestmark = pytest.mark.cluster(simulate_workloads=True)

LOGS = "simulate.quarterdeck.dev/logs"
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}, "annotations": {LOGS: "hello from {container}\nbye"}},
    "spec": {"containers": [{"name": "main", "image": "nginx"}, {"name": "side", "image": "x"}]},
}
POD = {"apiVersion": "v1", "kind": "Pod", **TEMPLATE}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": TEMPLATE,
    },
}


class Shell:
    """Calls commands against the cluster of the test."""

    def __init__(self, kubeconfig: Path, folder: Path, capsys: Any) -> None:
        self.kubeconfig = kubeconfig
        self.folder = folder
        self.capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        assert run([*arguments, "--kubeconfig", str(self.kubeconfig)]) == code
        done = self.capsys.readouterr()
        return done.out, done.err

    def apply(self, document: dict[str, Any]) -> None:
        path = self.folder / "object.json"
        path.write_text(json.dumps(document))
        self("apply", "-f", str(path))

    def wait_for_pods(self, count: int) -> None:
        """Wait until pods run; the server simulates them, so this ends soon."""
        asyncio.run(self._wait_for_pods(count))

    async def _wait_for_pods(self, count: int) -> None:
        async with Client(load_config(self.kubeconfig)) as client:
            pods = client.resource(GVR("", "v1", "pods"))

            async def run() -> bool:
                phases = [each["status"]["phase"] for each in await pods.list("default")]
                return phases == ["Running"] * count

            await eventually(run)


@pytest.fixture
def shell(kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(kubeconfig, tmp_path, capsys)


def test_the_log_of_a_pod_is_printed(shell: Shell) -> None:
    pod = {**POD, "metadata": {"name": "p", **POD["metadata"]}}  # type: ignore[dict-item]
    shell.apply(pod)
    shell.wait_for_pods(1)
    assert shell("logs", "p") == (
        "hello from main\nbye\n",
        "Defaulted container 'main' out of: main, side\n",
    )
    assert shell("logs", "pod/p", "-c", "side", "--tail", "1") == ("bye\n", "")
    text, _ = shell("logs", "p", "--all-containers", "--prefix")
    assert text.splitlines()[2] == "[pod/p/side] hello from side"
    (line, _) = shell("logs", "p", "-c", "main", "--json")[0].splitlines()
    assert json.loads(line) == {
        "namespace": "default",
        "pod": "p",
        "container": "main",
        "line": "hello from main",
    }
    assert shell("logs", "p", "-c", "main", "--timestamps")[0].count("Z hello") == 1
    _, error = shell("logs", "p", "-c", "none", code=1)
    assert "container none is not valid for pod p" in error
    _, error = shell("logs", "p", "-c", "main", "--previous", code=1)
    assert 'previous terminated container "main" in pod "p" not found' in error


def test_logs_of_workloads_and_label_selectors_are_printed(shell: Shell) -> None:
    shell.apply(DEPLOYMENT)
    shell.wait_for_pods(2)
    text, _ = shell("logs", "deployment/web", "-c", "main")
    assert text == "hello from main\nbye\n" * 2
    text, _ = shell("logs", "-l", "app=web", "-c", "main", "--tail", "1")
    assert text == "bye\n" * 2
    _, error = shell("logs", "-l", "app=none", code=1)
    assert "no pods with app=none found in namespace default" in error


def test_pods_are_found_by_their_owners_where_a_kind_has_no_selector(shell: Shell) -> None:
    shell.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "top"}})
    uid, _ = shell("get", "cm", "top", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "top", "uid": uid.strip()}
    metadata = {"name": "web", "ownerReferences": [{**owner, "controller": True}]}
    shell.apply({**DEPLOYMENT, "metadata": metadata})
    shell.wait_for_pods(2)
    assert shell("logs", "configmap/top", "-c", "side")[0] == "hello from side\nbye\n" * 2
    error = shell("logs", "node/quarterdeck-node-0", code=1)[1]
    assert "node quarterdeck-node-0 has no pods in namespace default" in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "give a pod or --selector", id="nothing"),
        pytest.param(["p", "-l", "a=b"], "give a pod or --selector", id="both"),
        pytest.param(["pod/"], "invalid target 'pod/'", id="no name"),
        pytest.param(["p", "--since", "soon"], "invalid --since 'soon'", id="no duration"),
    ],
)
def test_wrong_arguments_are_named(shell: Shell, arguments: list[str], words: str) -> None:
    assert words in shell("logs", *arguments, code=2)[1]
