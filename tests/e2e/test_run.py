"""`quarterdeck run` beside a server of its own: the lease, the settings, the façade, the end."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import RUN_FREE_PORTS

pytestmark = pytest.mark.slow  # real processes, on whatever machine

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
QUIET = (*RUN_FREE_PORTS, "--operators", "applications")
Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "LOG_FORMAT": "json", **(env or {})},
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def kubeconfig(spawn: Spawn, tmp_path: Path) -> str:
    """A server with simulated workloads, and the definitions installed."""
    server = spawn("server", "--in-memory", "--port", "0", "--simulate-workloads")
    path = until(server, r"kubeconfig is (\S+)")
    until(server, "ready in")
    call(path, "apply", "-f", "-", given=call(path, "crds", "--operators", "applications"))
    return path


def until(process: "subprocess.Popen[str]", pattern: str) -> str:
    """Read what a process says until a line matches; its first group, or the line."""
    assert process.stdout is not None
    lines = []
    while line := process.stdout.readline():
        lines.append(line)
        if found := re.search(pattern, line):
            return found.group(1) if found.groups() else line
    raise AssertionError("it ended: " + "".join(lines))


def call(kubeconfig: str, *arguments: str, given: str = "") -> str:
    more = [] if arguments[0] in ("crds", "manifests") else ["--kubeconfig", kubeconfig]
    done = subprocess.run(
        [*COMMAND, *arguments, *more], capture_output=True, text=True, input=given, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def application(name: str) -> str:
    return json.dumps(
        {
            "apiVersion": "cloudnative.elide.dev/v1",
            "kind": "Application",
            "metadata": {"name": name},
            "spec": {"replicas": 1, "image": "nginx"},
        }
    )


def until_phase(kubeconfig: str, name: str, phase: str, namespace: str = "default") -> None:
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        answer = call(kubeconfig, "get", "app", name, "-n", namespace, "-o", "json")
        found: dict[str, Any] = json.loads(answer)
        if found.get("status", {}).get("phase") == phase:
            return
    raise AssertionError(f"{name} did not become {phase}")


def test_operators_work_on_a_cluster_and_release_the_lease(spawn: Spawn, kubeconfig: str) -> None:
    operators = spawn("run", "--kubeconfig", kubeconfig, *QUIET)
    until(operators, "became leader")
    call(kubeconfig, "apply", "-f", "-", given=application("web"))
    until_phase(kubeconfig, "web", "Running")
    operators.send_signal(signal.SIGTERM)
    assert operators.wait(240) == 0
    lease = json.loads(call(kubeconfig, "get", "lease", "quarterdeck", "-o", "json"))
    assert not lease["spec"].get("holderIdentity")


def test_a_standby_takes_over(spawn: Spawn, kubeconfig: str) -> None:
    first = spawn("run", "--kubeconfig", kubeconfig, *QUIET, env={"POD_NAME": "one"})
    until(first, "became leader")
    second = spawn("run", "--kubeconfig", kubeconfig, *QUIET, env={"POD_NAME": "two"})
    until(second, '"message": "connected"')
    lease = json.loads(call(kubeconfig, "get", "lease", "quarterdeck", "-o", "json"))
    assert lease["spec"]["holderIdentity"] == "one"
    first.send_signal(signal.SIGINT)
    assert first.wait(240) == 0
    until(second, "became leader")
    call(kubeconfig, "apply", "-f", "-", given=application("web"))
    until_phase(kubeconfig, "web", "Running")


def test_a_namespace_limits_what_is_looked_at(spawn: Spawn, kubeconfig: str) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}}
    call(kubeconfig, "apply", "-f", "-", given=json.dumps(namespace))
    call(kubeconfig, "apply", "-f", "-", given=application("theirs"))
    operators = spawn("run", "--kubeconfig", kubeconfig, *QUIET, env={"NAMESPACE": "mine"})
    until(operators, "became leader")
    call(kubeconfig, "apply", "-f", "-", "--namespace", "mine", given=application("web"))
    until_phase(kubeconfig, "web", "Running", namespace="mine")
    theirs = json.loads(call(kubeconfig, "get", "app", "theirs", "-o", "json"))
    assert "finalizers" not in theirs["metadata"]


def test_port_alone_opens_nothing_and_the_flag_does(spawn: Spawn, kubeconfig: str) -> None:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        by_variable, by_flag = one.getsockname()[1], other.getsockname()[1]
    operators = spawn(
        *("run", "--kubeconfig", kubeconfig, "--http-port", str(by_flag)),
        *QUIET,
        env={"PORT": str(by_variable)},
    )
    until(operators, "became leader")
    with urllib.request.urlopen(f"http://127.0.0.1:{by_flag}/", timeout=240) as answer:
        assert json.loads(answer.read())["isLeader"] is True
    with urllib.request.urlopen(f"http://127.0.0.1:{by_flag}/version", timeout=240) as answer:
        assert json.loads(answer.read())["gitVersion"].startswith("v1.")
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{by_variable}/", timeout=240)


def test_the_log_level_follows_a_config_map(spawn: Spawn, kubeconfig: str) -> None:
    operators = spawn(
        "run", "--kubeconfig", kubeconfig, "--settings-configmap", "default/settings", *QUIET
    )
    until(operators, "became leader")

    def set_level(level: str) -> None:
        document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings"},
            "data": {"LOG_LEVEL": level},
        }
        call(kubeconfig, "apply", "-f", "-", given=json.dumps(document))

    set_level("debug")
    assert "debug" in until(operators, "settings applied")
    set_level("loud")
    assert "loud" in until(operators, "invalid setting ignored")


def test_a_missing_definition_is_named_and_waited_for(spawn: Spawn) -> None:
    server = spawn("server", "--in-memory", "--port", "0", "--simulate-workloads")
    path = until(server, r"kubeconfig is (\S+)")
    operators = spawn("run", "--kubeconfig", path, *QUIET)
    assert "quarterdeck crds" in until(operators, "is not installed")
    until(operators, "became leader")
    call(path, "apply", "-f", "-", given=call(path, "crds", "--operators", "applications"))
    call(path, "apply", "-f", "-", given=application("late"))
    until_phase(path, "late", "Running")


def test_kustomize_and_the_command_print_the_same_and_it_applies(kubeconfig: str) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    from quarterdeck.kit import yaml

    root = Path(__file__).parents[2]
    built = subprocess.run(
        [kubectl, "kustomize", "config/default"], cwd=root, capture_output=True, text=True
    )
    assert (built.returncode, built.stderr) == (0, "")

    def documents(text: str) -> list[str]:
        return sorted(json.dumps(each, sort_keys=True) for each in yaml.load_all(text))

    assert documents(built.stdout) == documents(call(kubeconfig, "manifests"))
    done = subprocess.run(
        [kubectl, "--kubeconfig", kubeconfig, "apply", "-f", "-"],
        input=built.stdout,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    # the definitions were made by server-side apply, which kubectl's own apply remarks on
    assert [line for line in done.stderr.splitlines() if "last-applied" not in line] == []
