"""Pipelines as a user meets them: `up --demo`, `fleet`, `run`, `pipelines import`, kubectl."""

import base64
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS, RUN_FREE_PORTS

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
RUN = ("run", *RUN_FREE_PORTS, "--operators", "pipelines")
SAMPLES = Path(__file__).parents[2] / "config" / "samples"
VARIABLES = ("FLEET_MANAGEMENT_BASE_URL", "FLEET_MANAGEMENT_USERNAME", "FLEET_MANAGEMENT_PASSWORD")

pytestmark = pytest.mark.slow


class Process:
    """A command of ours, and what it says."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str]) -> None:
        clean = {key: value for key, value in os.environ.items() if key not in VARIABLES}
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**clean, **env},
        )
        self.said = ""

    def until(self, pattern: str) -> str:
        """Wait for a line; returns its first group, or the whole match."""
        assert self.process.stdout is not None
        while (found := re.search(pattern, self.said)) is None:
            line = self.process.stdout.readline()
            assert line, f"it ended before {pattern!r}:\n{self.said}"
            self.said += line
        return found.group(found.re.groups and 1)

    def end(self) -> int:
        """Stop it gracefully; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate(timeout=240)[0]
        return self.process.returncode


Spawn = Callable[..., Process]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    running: list[Process] = []

    def start(*arguments: str, **env: str) -> Process:
        running.append(Process(tmp_path, *arguments, env=env))
        return running[-1]

    yield start
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()


def kubectl(kubeconfig: str, *arguments: str, given: str = "") -> str:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not here")
    done = subprocess.run(
        ["kubectl", f"--kubeconfig={kubeconfig}", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ready(kubeconfig: str, name: str, reason: str = "Synced") -> dict[str, Any]:
    """Wait until a Pipeline is ready for a reason."""
    path = '{.status.conditions[?(@.type=="Ready")].reason}'
    kubectl(kubeconfig, "wait", f"--for=jsonpath={path}={reason}", f"fmp/{name}", "--timeout=240s")
    found: dict[str, Any] = json.loads(kubectl(kubeconfig, "get", "fmp", name, "-o", "json"))
    return found


def call(url: str, token: str, operation: str, message: dict[str, Any]) -> dict[str, Any]:
    """One RPC of a fleet server, by the plainest client there is."""
    service = (
        "pipeline.v1.PipelineService"
        if "Pipeline" in operation
        else "collector.v1.CollectorService"
    )
    pair = base64.b64encode(f"user:{token}".encode()).decode()
    request = urllib.request.Request(
        f"{url}/{service}/{operation}",
        data=json.dumps(message).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Basic {pair}"},
    )
    with urllib.request.urlopen(request, timeout=240) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_the_demo_shows_a_pipeline_reach_agents(spawn: Spawn, tmp_path: Path) -> None:
    up = spawn("up", "--demo", *FREE_PORTS)
    kubeconfig = up.until(r"export KUBECONFIG=(\S+)")
    up.until("agent edge-1 received pipeline-sample")
    up.until("agent edge-3 received no pipelines")
    token_file = tmp_path / ".quarterdeck" / "fleet-token"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert token_file.read_text().strip() not in up.said
    assert "fleet-token" in up.said
    table = kubectl(kubeconfig, "get", "fmp")
    assert table.split("\n")[0].split() == [
        *("NAME", "ENABLED", "CONFIGTYPE", "FLEET", "ID", "READY", "AGE")
    ]
    kubectl(
        kubeconfig,
        "patch",
        "fmp",
        "pipeline-sample",
        "--type=merge",
        "-p",
        '{"spec":{"enabled":false}}',
    )
    up.until("(?s)agent edge-1 received pipeline-sample.*agent edge-1 received no pipelines")
    assert up.end() == 0


def test_the_samples_and_a_deletion_work_and_survive_a_restart(
    spawn: Spawn, tmp_path: Path
) -> None:
    first = spawn("up", *FREE_PORTS)
    kubeconfig = first.until(r"export KUBECONFIG=(\S+)")
    for name in ("fleetmanagement_v1alpha1_pipeline.yaml", "pipeline_otel_sample.yaml"):
        kubectl(kubeconfig, "apply", "-f", str(SAMPLES / name))
    identity = ready(kubeconfig, "pipeline-sample")["status"]["id"]
    ready(kubeconfig, "pipeline-otel-sample")
    assert first.end() == 0
    second = spawn("up", *FREE_PORTS)
    kubeconfig = second.until(r"export KUBECONFIG=(\S+)")
    url = second.until(r"(http://\S+)\s+fleet server")
    token = (tmp_path / ".quarterdeck" / "fleet-token").read_text().strip()
    listed = call(url, token, "ListPipelines", {})["pipelines"]
    assert identity in [each["id"] for each in listed]
    kubectl(kubeconfig, "delete", "-f", str(SAMPLES / "fleetmanagement_v1alpha1_pipeline.yaml"))
    names = [each["name"] for each in call(url, token, "ListPipelines", {})["pipelines"]]
    assert names == ["pipeline-otel-sample"]
    described = kubectl(kubeconfig, "describe", "fmp", "pipeline-otel-sample")
    assert "Synced" in described and token not in described
    assert second.end() == 0


@pytest.fixture
def cluster(spawn: Spawn) -> str:
    """The kubeconfig of an API server with our kinds and no operator."""
    server = spawn("server", "--in-memory", "--port", "0")
    kubeconfig = server.until(r"kubeconfig is (\S+)")
    server.until("ready in")
    crds = subprocess.run([*COMMAND, "crds"], capture_output=True, text=True, check=True).stdout
    kubectl(kubeconfig, "apply", "-f", "-", given=crds)
    return kubeconfig


def test_run_without_a_server_names_what_is_missing_and_exits_2(spawn: Spawn, cluster: str) -> None:
    process = spawn(
        *RUN,
        KUBECONFIG=cluster,
        FLEET_MANAGEMENT_USERNAME="someone",
        FLEET_MANAGEMENT_PASSWORD="not-to-be-shown",
    )
    process.process.wait(timeout=240)
    assert process.end() == 2
    assert "FLEET_MANAGEMENT_BASE_URL" in process.said
    assert "set FLEET_MANAGEMENT_BASE_URL, or" in process.said
    assert "not-to-be-shown" not in process.said
    assert "Traceback" not in process.said


def test_plain_run_leaves_pipelines_waiting(spawn: Spawn, cluster: str) -> None:
    process = spawn("run", *RUN_FREE_PORTS, KUBECONFIG=cluster)
    process.until("no default fleet server")
    kubectl(cluster, "apply", "-f", str(SAMPLES / "fleetmanagement_v1alpha1_pipeline.yaml"))
    ready(cluster, "pipeline-sample", "NoConnection")
    kubectl(cluster, "delete", "fmp", "pipeline-sample", "--timeout=240s")
    assert process.end() == 0


def test_a_fleet_server_an_operator_and_an_import(
    spawn: Spawn, cluster: str, tmp_path: Path
) -> None:
    fleet = spawn("fleet", "--port", "0", "--data-dir", "fleet")
    url = fleet.until(r"listening on (\S+)")
    fleet.until("the token is in")
    token_file = tmp_path / "fleet" / "fleet-token"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    token = token_file.read_text().strip()
    contents = 'prometheus.scrape "x" {\n  targets = []\n}\n'
    existing = {"name": "Old Pipeline", "contents": contents, "matchers": ["env=prod"]}
    identity = call(url, token, "CreatePipeline", {"pipeline": existing})["id"]
    settings = {
        "FLEET_MANAGEMENT_BASE_URL": f"{url}/pipeline.v1.PipelineService/",
        "FLEET_MANAGEMENT_USERNAME": "operator",
        "FLEET_MANAGEMENT_PASSWORD": token,
    }
    imported = spawn("pipelines", "import", **settings)
    imported.process.wait(timeout=240)
    assert imported.end() == 0
    operator = spawn(*RUN, KUBECONFIG=cluster, **settings)
    kubectl(cluster, "apply", "-f", "-", given=imported.said)
    name = json.loads(kubectl(cluster, "get", "fmp", "-o", "json"))["items"][0]["metadata"]["name"]
    assert ready(cluster, name)["status"]["id"] == identity
    kubectl(cluster, "delete", "fmp", name, "--timeout=240s")
    assert call(url, token, "ListPipelines", {}) == {}
    assert token not in operator.said
    assert operator.end() == 0
    assert fleet.end() == 0


def test_a_rotated_token_is_picked_up(spawn: Spawn, cluster: str, tmp_path: Path) -> None:
    fleet = spawn("fleet", "--port", "0", "--data-dir", "fleet")
    url = fleet.until(r"listening on (\S+)")
    fleet.until("the token is in")
    token = (tmp_path / "fleet" / "fleet-token").read_text().strip()
    secret = ("create", "secret", "generic", "fleet-management-credentials")
    literals = ("--from-literal=username=operator", f"--from-literal=base-url={url}")
    kubectl(cluster, *secret, *literals, "--from-literal=password=wrong")
    connection = {
        "apiVersion": "fleetmanagement.grafana.com/v1alpha1",
        "kind": "FleetConnection",
        "metadata": {"name": "main", "namespace": "default"},
        "spec": {"secretRef": {"name": "fleet-management-credentials"}, "default": True},
    }
    kubectl(cluster, "apply", "-f", "-", given=json.dumps(connection))
    operator = spawn(*RUN, KUBECONFIG=cluster)
    kubectl(cluster, "apply", "-f", str(SAMPLES / "fleetmanagement_v1alpha1_pipeline.yaml"))
    ready(cluster, "pipeline-sample", "AuthFailed")
    patch = json.dumps({"stringData": {"password": token}})
    kubectl(cluster, "patch", "secret", "fleet-management-credentials", "-p", patch)
    ready(cluster, "pipeline-sample")
    assert operator.end() == 0


def test_lint_exits_1_and_names_the_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.alloy"
    bad.write_text('a.b "c" {\n  x = \n}\n')
    done = subprocess.run(
        [*COMMAND, "pipelines", "lint", str(bad)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{bad}:2:" in done.stdout or f"{bad}:3:" in done.stdout
    good = subprocess.run(
        [*COMMAND, "pipelines", "lint", str(SAMPLES)], capture_output=True, text=True, check=False
    )
    assert (good.returncode, good.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("fleet", "--port", "99999"), "must be at most 65535"),
        (("fleet", "--data-dir", "/dev/null/x", "--port", "0"), "cannot use"),
        (("pipelines", "lint", "nowhere.yaml"), "cannot read nowhere.yaml"),
        (("pipelines", "import"), "FLEET_MANAGEMENT_BASE_URL"),
        (
            (
                "pipelines",
                "import",
                "--url",
                "http://x.io",
                "--username",
                "u",
                "--password-file",
                "/",
            ),
            ":",
        ),
    ],
)
def test_bad_usage_is_one_line_and_exits_2(
    spawn: Spawn, arguments: tuple[str, ...], text: str
) -> None:
    process = spawn(*arguments)
    process.process.wait(timeout=240)
    assert process.end() == 2
    assert text in process.said
    assert "Traceback" not in process.said
