"""A cluster of one real node for a test: Kubernetes' own programs, containerd and runc.

Its programs are those of the PATH or those that tools/kubernetes.sh has built. They run in a
sandbox: pods have a bridge, Services a kube-proxy, and the machine's network knows nothing of it.
There is no DNS and nothing that enforces NetworkPolicies.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import node_config
import node_images
import pytest
import sandbox
from bench.peers import api_servers
from sandbox import Sandbox

from quarterdeck.kit import yaml

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".tools" / "kubernetes"
PROGRAMS = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"),
    *("kube-proxy", "containerd", "ctr", "runc", "iptables", "ip", "nsenter", "unshare"),
    *("busybox", "kubectl", "helm"),
)
NODE = "node"
LIMIT_S = 300.0
_ADDRESS = "10.240.0.1"
_URL = f"https://{_ADDRESS}:6443"
_SERVICES = "10.0.0.0/24"
_USERS = {
    "administrator": "system:masters",
    f"system:node:{NODE}": "system:nodes",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
    "system:kube-proxy": "",
}
"""Who talks to the API server, and their groups."""
_FETCH = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=10) as answer:
    print(answer.read().decode(), end="")
"""


class RealNode:
    """A running cluster; its administrator uses kubectl and helm."""

    def __init__(self, inside: Sandbox, kubeconfig: Path) -> None:
        self.sandbox = inside
        self.kubeconfig = kubeconfig

    def kubectl(self, *arguments: str, given: str = "") -> str:
        """What kubectl prints; it must succeed."""
        return self._run("kubectl", *arguments, given=given)

    def helm(self, *arguments: str) -> str:
        """What helm prints; it must succeed."""
        return self._run("helm", *arguments)

    def try_kubectl(self, *arguments: str, given: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors of kubectl."""
        command = (find_program("kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments)
        done = self.sandbox.run(*command, given=given)
        return done.returncode, done.stdout, done.stderr

    def get(self, *arguments: str) -> Any:
        """What `kubectl get -o json` prints."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def items(self, *arguments: str) -> list[Any]:
        """The items of what `kubectl get -o json` prints."""
        found: list[Any] = self.get(*arguments)["items"]
        return found

    def fetch(self, url: str) -> tuple[str, str]:
        """What a web server answers when it is asked from the node, and what went wrong."""
        done = self.sandbox.run(sys.executable, "-c", _FETCH, url)
        return done.stdout, done.stderr

    def wait(self, holds: Callable[[], object], explain: Callable[[], object]) -> None:
        """Wait until something holds while every program runs."""
        deadline, pause = time.monotonic() + LIMIT_S, threading.Event()
        while not holds():
            self.sandbox.check_running()
            assert time.monotonic() < deadline, explain()
            pause.wait(0.3)

    def import_image(self, layout: Path, name: str) -> None:
        """Give the node every image of an OCI layout, as NAME:TAG."""
        archive = self.sandbox.folder / "image.tar"
        shutil.make_archive(str(archive.with_suffix("")), "tar", layout)
        self.ctr("images", "import", "--base-name", name, str(archive))

    def ctr(self, *arguments: str) -> str:
        """What containerd's own client prints, in the namespace of pods."""
        address = ("--address", str(self.sandbox.folder / "containerd.sock"))
        done = self.sandbox.run(find_program("ctr"), *address, "-n", "k8s.io", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, name: str, *arguments: str, given: str = "") -> str:
        command = (find_program(name), "--kubeconfig", str(self.kubeconfig), *arguments)
        done = self.sandbox.run(*command, given=given)
        assert done.returncode == 0, f"{name} {' '.join(arguments)}: {done.stderr}"
        return done.stdout


def find_program(name: str) -> str:
    """The path of a program that `require_programs` has found."""
    path = os.pathsep.join([str(BUILT), os.environ["PATH"], "/usr/sbin"])
    return shutil.which(name, path=path) or ""


def require_programs() -> None:
    """Skip the test where parts of a node are missing, or fail where they are required."""
    missing = [each for each in PROGRAMS if not find_program(each)]
    if not (node_config.PLUGINS / "bridge").exists():
        missing.append("containernetworking-plugins")
    if missing:
        required = os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").replace(",", " ").split()
        stop = pytest.fail if set(missing) & set(required) else pytest.skip
        stop(
            f"no real node without {', '.join(missing)}; tools/debian.sh, tools/helm.sh and "
            "tools/kubernetes.sh install them"
        )
    if os.geteuid() != 0:
        pytest.skip("only root may run a node")


@contextlib.contextmanager
def running_node() -> Iterator[RealNode]:
    """Start everything, and wait until the node takes pods."""
    require_programs()
    folder = Path(tempfile.mkdtemp(prefix="qd-node-"))  # names of sockets must be short
    try:
        with (
            sandbox.own_cgroup(folder.name) as cgroup,
            sandbox.running_sandbox(folder, _ADDRESS) as inside,
        ):
            node = _start_control_plane(inside)
            _start_node(node, cgroup)
            yield node
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start_control_plane(inside: Sandbox) -> RealNode:
    folder = inside.folder
    api_servers.write_credentials(folder, 0)  # the key that signs tokens
    tokens = [f'{user}-token,{user},{user},"{group}"' for user, group in _USERS.items()]
    (folder / "tokens.csv").write_text("\n".join(tokens))
    (folder / "tokens.csv").chmod(0o600)
    inside.start(
        find_program("etcd"),
        f"--data-dir={folder / 'etcd'}",
        "--log-level=error",
        "--unsafe-no-fsync",
    )
    inside.start(
        find_program("kube-apiserver"),
        "--etcd-servers=http://127.0.0.1:2379",
        f"--advertise-address={_ADDRESS}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-cluster-ip-range={_SERVICES}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'sa.key'}",
        f"--service-account-signing-key-file={folder / 'sa.key'}",
    )
    certificate = folder / "certificates/apiserver.crt"
    ready = RealNode(inside, folder / "administrator.kubeconfig")
    ready.wait(certificate.exists, lambda: inside.read_log("kube-apiserver"))
    ready.wait(
        lambda: "-----END" in certificate.read_text(), lambda: inside.read_log("kube-apiserver")
    )
    _write_kubeconfigs(folder, certificate.read_text())
    ready.wait(
        lambda: ready.try_kubectl("get", "--raw", "/readyz")[0] == 0,
        lambda: inside.read_log("kube-apiserver"),
    )
    inside.start(
        find_program("kube-controller-manager"),
        f"--kubeconfig={folder / 'system-kube-controller-manager.kubeconfig'}",
        "--use-service-account-credentials",
        f"--root-ca-file={folder / 'authority.crt'}",
        f"--service-account-private-key-file={folder / 'sa.key'}",
        "--leader-elect=false",
    )
    inside.start(
        find_program("kube-scheduler"),
        f"--kubeconfig={folder / 'system-kube-scheduler.kubeconfig'}",
        "--leader-elect=false",
    )
    return ready


def _write_kubeconfigs(folder: Path, chain: str) -> None:
    """A file for each user; the authority is the last certificate that the server shows."""
    _, begin, last = chain.rpartition("-----BEGIN CERTIFICATE-----")
    (folder / "authority.crt").write_text(begin + last)
    cluster = {"server": _URL, "certificate-authority": str(folder / "authority.crt")}
    for user in _USERS:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": NODE,
            "contexts": [{"name": NODE, "context": {"cluster": NODE, "user": user}}],
            "clusters": [{"name": NODE, "cluster": cluster}],
            "users": [{"name": user, "user": {"token": f"{user}-token"}}],
        }
        path = folder / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(yaml.dump(config))
        path.chmod(0o600)


def _start_node(node: RealNode, cgroup: str) -> None:
    inside, folder = node.sandbox, node.sandbox.folder
    (folder / "containerd.toml").write_text(node_config.build_containerd(folder))
    (folder / "cni").mkdir()
    (folder / "cni/10-bridge.conflist").write_text(json.dumps(node_config.build_network(folder)))
    (folder / "kubelet.yaml").write_text(yaml.dump(node_config.build_kubelet(folder, cgroup)))
    inside.start(find_program("containerd"), "--config", str(folder / "containerd.toml"))
    node.wait(
        lambda: "containerd successfully booted" in inside.read_log("containerd"),
        lambda: inside.read_log("containerd"),
    )
    (folder / "images").mkdir()
    node.import_image(node_images.write_layout(folder / "images"), node_images.NAME)
    inside.start(
        find_program("kubelet"),
        f"--config={folder / 'kubelet.yaml'}",
        f"--kubeconfig={folder / f'system-node-{NODE}.kubeconfig'}",
        f"--root-dir={folder / 'kubelet'}",
        f"--cert-dir={folder / 'kubelet-pki'}",
        f"--hostname-override={NODE}",
        f"--node-ip={_ADDRESS}",
    )
    inside.start(
        find_program("kube-proxy"),
        f"--kubeconfig={folder / 'system-kube-proxy.kubeconfig'}",
        f"--hostname-override={NODE}",
        f"--cluster-cidr={node_config.PODS}",
        "--proxy-mode=iptables",
        *("--conntrack-max-per-core=0", "--conntrack-min=0"),
        *("--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0"),
    )
    ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    node.wait(
        lambda: node.try_kubectl("get", "node", NODE, "-o", ready)[1] == "True",
        lambda: (node.try_kubectl("describe", "node", NODE), inside.read_log("kubelet")),
    )
