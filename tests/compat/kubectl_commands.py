"""Fetches kubectl's own command tests with the Go client, and runs them against a server of ours.

They are shell functions in Kubernetes' repository; its Go module holds them.
"""

import base64
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from server_process import serve
from tests.compat.go_suite import fetch_module, find_program
from tests.compat.suites import KUBECTL_VERSION

from quarterdeck.kit import yaml
from quarterdeck.kit.free_port import find_free_port

ROOT = Path(__file__).parents[2]
MODULE = f"k8s.io/kubernetes@{KUBECTL_VERSION}"
FOLDERS = (
    "hack/lib",
    "hack/testdata",
    "test/cmd",
    "test/e2e/testing-manifests",
    "test/fixtures",
    "third_party/forked/shell2junit",
)
"""What the tests read."""
FLAGS = (
    "--controllers-without-kubelet",
    "--controllers=*,-scheduler",
    "--authorization-mode=RBAC,AlwaysAllow",
    "--enable-admission-plugins=LimitRanger,ResourceQuota",
    "--disable-admission-plugins=ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,"
    "MutatingAdmissionWebhook,ValidatingAdmissionWebhook,StorageObjectInUseProtection",
    "--service-cluster-ip-range=10.0.0.0/24",
)
"""What Kubernetes' own driver gives to kube-apiserver; it starts no scheduler."""
CANARY = "record_command_canary"
"""A group that must fail: so they know that failures are noticed."""

_BEGUN = re.compile(r"^Recording: (\w+)$", re.MULTILINE)
_FAILED = re.compile(r"^Error when running (\w+)$", re.MULTILINE)


class Result(NamedTuple):
    """What the groups of tests did."""

    begun: frozenset[str]
    failed: frozenset[str]
    """The last one that began is among them if the run ended before its end."""
    output: str


def fetch(folder: Path) -> Path:
    """Copy the tests to a folder where they can write; skips, by name, if they cannot be had."""
    source = fetch_module(find_program("go"), MODULE, folder)
    work = folder / "kubernetes"
    for name in FOLDERS:
        shutil.copytree(source / name, work / name, copy_function=shutil.copyfile)
    for path in (work, *work.rglob("*")):
        path.chmod(0o755)  # some are programs; the module proxy keeps no modes
    programs = work / "_output" / "bin"
    programs.mkdir(parents=True)
    (programs / "kubectl").symlink_to(find_kubectl(folder))
    if convert := shutil.which("kubectl-convert"):
        (programs / "kubectl-convert").symlink_to(convert)
    return work


def find_kubectl(folder: Path) -> str:
    """Find kubectl itself, or build it where Google Cloud's dispatcher stands in for it.

    The dispatcher starts a second process, which finds files on pipes read already.
    """
    kubectl = find_program("kubectl")
    version = subprocess.run(
        [kubectl, "version", "--client"], capture_output=True, text=True, check=True
    )
    if "dispatcher" not in version.stdout:
        return kubectl
    command = ["bash", str(ROOT / "tools" / "kubectl.sh"), str(folder / "tools"), str(ROOT)]
    environment = {**os.environ, "KUBECTL_BUILD": "1"}
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return str(folder / "tools" / "bin" / "kubectl")


def run(work: Path, *, groups: str = "") -> Result:
    """Run groups of tests, separated by spaces; all of them by default."""
    port = find_free_port()
    data = work / "hack" / "testdata"
    files = (
        f"--client-ca-file={data / 'ca' / 'ca.crt'}",
        f"--token-auth-file={data / 'auth-tokens.csv'}",
    )
    script = Path(__file__).parent / "kubectl" / "run.sh"
    with serve(work, *FLAGS, *files, f"--port={port}", may_warn=True) as kubeconfig:
        temporary = write_certificate(work, kubeconfig)
        done = subprocess.run(
            [find_program("bash"), str(script)],
            cwd=work,
            env={
                **os.environ,
                "SECURE_API_PORT": str(port),
                "TMPDIR": str(temporary),
                "WHAT": groups,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    return parse(done.stdout, exit_code=done.returncode)


def write_certificate(work: Path, kubeconfig: Path) -> Path:
    """Write the server's certificate to where kube-apiserver does; returns the folder."""
    folder = work / "tmp"
    folder.mkdir()
    loaded: Any = yaml.load(kubeconfig.read_text())
    text = loaded["clusters"][0]["cluster"]["certificate-authority-data"]
    (folder / "apiserver.crt").write_bytes(base64.b64decode(text))
    return folder


def parse(output: str, *, exit_code: int) -> Result:
    """Read what the groups print."""
    begun = [each for each in _BEGUN.findall(output) if each != CANARY]
    failed = set(_FAILED.findall(output))
    if exit_code and not failed:
        failed.add(begun[-1] if begun else "setup")
    return Result(frozenset(begun), frozenset(failed), output)
