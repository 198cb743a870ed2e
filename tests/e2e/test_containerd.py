"""The image under a real container runtime: containerd and runc, as on a node.

The operator runs in a container as in its pod: user 65532, read-only root, no capabilities, the
default seccomp profile, 128 MiB. The API server is ours, beside it on the host's network.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest
from free_ports import RUN_FREE_PORTS

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "quarterdeck.cli")
IMAGE = "quarterdeck:operator"
CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID"),
    *("SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"),
)
"""What containerd gives by default; a pod of ours drops all."""
Serve = Callable[..., AbstractContextManager[Path]]


class Node(NamedTuple):
    """A containerd of this test alone."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        return ["ctr", "--address", str(self.folder / "socket"), *arguments]

    def run(self, *arguments: str) -> str:
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    for name in ("containerd", "ctr", "runc"):
        programs.require(name)
    if os.geteuid() != 0:
        pytest.skip("only root may run containers")
    folder = tmp_path / "containerd"
    folder.mkdir()
    config = folder / "config.toml"
    config.write_text(
        f'version = 2\nroot = "{folder}/root"\nstate = "{folder}/state"\n'
        f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{folder}/socket"\n'
    )
    command = ["containerd", "--config", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "containerd successfully booted" in line:
                break
        else:
            pytest.fail("containerd ended before it was ready")
        with open(os.devnull, "w") as nowhere:
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=nowhere)
            yield Node(folder)
            process.terminate()
            process.wait()
            drain.wait()


def test_the_operator_works_in_a_container(
    node: Node, oci_layout: Path, serve: Serve, tmp_path: Path
) -> None:
    archive = tmp_path / "image.tar"
    subprocess.run(["tar", "-C", str(oci_layout), "-cf", str(archive), "."], check=True)
    node.run("images", "import", "--base-name", "quarterdeck", str(archive))
    with serve(tmp_path, "--simulate-workloads") as kubeconfig:
        kubeconfig.chmod(0o644)  # user 65532 reads it as a pod reads its token
        quarterdeck(kubeconfig, "apply", "-f", "-", given=quarterdeck(None, "crds"))
        sample = ROOT / "config/samples/cloudnative_v1_application_my-app.yaml"
        quarterdeck(kubeconfig, "apply", "-f", str(sample))
        with start_operator(node, kubeconfig) as process:
            wait_until_running(kubeconfig)
            pid = find_pid(node)
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            node.run("task", "kill", "--signal", "SIGTERM", "operator")
            output, _ = process.communicate()
        assert process.returncode == 0, output
        assert '"message": "stopping"' in output
    assert "Uid:\t65532\t65532\t65532\t65532" in status
    assert "CapEff:\t0000000000000000" in status
    assert "Seccomp:\t2" in status
    assert "NoNewPrivs:\t1" in status


def quarterdeck(kubeconfig: Path | None, *arguments: str, given: str = "") -> str:
    more = ["--kubeconfig", str(kubeconfig)] if kubeconfig is not None else []
    command = [*COMMAND, *arguments, *more]
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def start_operator(node: Node, kubeconfig: Path) -> Iterator["subprocess.Popen[str]"]:
    drops = [word for each in CAPABILITIES for word in ("--cap-drop", f"CAP_{each}")]
    mount = f"type=bind,src={kubeconfig},dst=/tmp/kubeconfig,options=rbind:ro"
    flags = [*RUN_FREE_PORTS, "--no-leader-elect"]
    command = node.command(
        *("run", "--rm", "--read-only", "--seccomp", "--net-host"),
        *("--memory-limit", str(128 * 1024 * 1024), *drops, "--mount", mount),
        *("--env", "LOG_FORMAT=json", "--env", "KUBECONFIG=/tmp/kubeconfig"),
        *(IMAGE, "operator", "quarterdeck", "run", "--operators", "applications", *flags),
    )
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)


def wait_until_running(kubeconfig: Path) -> None:
    """Follow the application until its pods, which are simulated, are there."""
    command = [*COMMAND, "get", "application", "my-app", "-o", "json", "--watch"]
    with subprocess.Popen(
        [*command, "--kubeconfig", str(kubeconfig)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if '"Running"' in line:
                    return
        finally:
            process.kill()
    raise AssertionError("the application never ran")


def find_pid(node: Node) -> int:
    for line in node.run("task", "ls").splitlines()[1:]:
        name, pid, _ = line.split()
        if name == "operator":
            return int(pid)
    raise AssertionError(json.dumps(node.run("task", "ls")))
