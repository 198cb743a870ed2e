"""The outside suites that are run unmodified, and what is known to fail in them and why."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

KUBELET = "needs a kubelet"


class GoSuite(NamedTuple):
    """Packages of a published Go module whose tests run on envtest's programs."""

    name: str
    module: str
    version: str
    packages: tuple[str, ...]
    known: Mapping[str, str] = MappingProxyType({})
    """Words in the name of a spec that fails, and the reason."""


CONTROLLER_RUNTIME = (
    "./pkg/builder/",
    "./pkg/cache/",
    "./pkg/client/",
    "./pkg/client/apiutil/",
    "./pkg/controller/",
    "./pkg/envtest/",
    "./pkg/internal/recorder/",
    "./pkg/manager/",
    "./pkg/source/",
    "./pkg/webhook/",
)

GO_SUITES = (
    GoSuite(
        "controller-runtime 0.20",
        "sigs.k8s.io/controller-runtime",
        "v0.20.4",
        CONTROLLER_RUNTIME,
    ),
)

CLIENTS = {
    "kubernetes, kubernetes_asyncio, kr8s, lightkube (Python)": "tests/e2e/clients",
    "kopf": "tests/e2e/clients",
    "@kubernetes/client-node 1.4": "tests/compat/node",
    "kube-rs 1.1": "tests/compat/rust",
}
"""Client libraries that a program of ours uses as their users do, and where it is."""

NO_DRIVER = {
    "kubectl's command tests": "they live in Kubernetes' own repository and need its build",
    "controller-runtime 0.25": "not yet",
    "operators of rabbitmq, karpenter and gateway-api": "not yet",
}
"""Suites that nothing here runs, and why."""
