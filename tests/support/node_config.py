"""Settings of containerd, the network of pods and the kubelet, for a node of a test."""

from pathlib import Path
from typing import Any

import node_images

PLUGINS = Path("/usr/lib/cni")
"""Where Debian installs programs that connect pods to a network."""
PODS = "10.244.0.0/24"


def build_containerd(folder: Path) -> str:
    """containerd with its folders, and pods by runc."""
    return f"""
version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
[grpc]
address = "{folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{node_images.PAUSE}"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{PLUGINS}"
conf_dir = "{folder}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""


def build_network(folder: Path) -> dict[str, Any]:
    """A bridge on which each pod has an address."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(folder / "addresses"),
    }
    bridge = {
        **{"type": "bridge", "bridge": "pods0", "isGateway": True, "ipMasq": True},
        **{"hairpinMode": True, "ipam": addresses},
    }
    return {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def build_kubelet(folder: Path, cgroup: str) -> dict[str, Any]:
    """Limits of pods are enforced; nothing is evicted because the machine's disk is full."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{folder}/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "podLogsDir": str(folder / "pod-logs"),
        "resolvConf": "",
        "oomScoreAdj": 0,
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
    }
