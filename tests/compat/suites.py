"""The outside suites that are run unmodified, and what is known to fail in them and why."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

KUBELET = "needs a kubelet"


class GoSuite(NamedTuple):
    """Packages of a published Go module whose tests need an API server."""

    name: str
    module: str
    version: str
    packages: tuple[str, ...]
    known: Mapping[str, str] = MappingProxyType({})
    """Words in the name of a spec that fails, and the reason."""
    definitions: str = ""
    """A folder of definitions. Tests with one get a kubeconfig of a server that has them; the
    others start envtest's programs."""
    tags: str = ""
    """Build tags."""


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

KARPENTER = (
    "./pkg/apis/v1/",
    "./pkg/controllers/node/health/",
    "./pkg/controllers/node/termination/",
    "./pkg/controllers/node/termination/terminator/",
    "./pkg/controllers/nodeclaim/disruption/",
    "./pkg/controllers/nodeclaim/garbagecollection/",
    "./pkg/controllers/nodeclaim/lifecycle/",
    "./pkg/controllers/nodepool/counter/",
    "./pkg/controllers/nodepool/readiness/",
    "./pkg/controllers/state/",
    "./pkg/utils/node/",
)

GO_SUITES = (
    GoSuite(
        "controller-runtime 0.20",
        "sigs.k8s.io/controller-runtime",
        "v0.20.4",
        CONTROLLER_RUNTIME,
    ),
    GoSuite(
        "controller-runtime 0.25",
        "sigs.k8s.io/controller-runtime",
        "v0.25.2",
        CONTROLLER_RUNTIME,
        known={"aggregatedDiscovery=false": "downloads an old kube-apiserver and tests that one"},
    ),
    GoSuite(
        "gateway-api, standard",
        "sigs.k8s.io/gateway-api",
        "v1.2.1",
        ("./pkg/test/cel/",),
        definitions="config/crd/standard",
        tags="standard",
    ),
    GoSuite(
        "gateway-api, experimental",
        "sigs.k8s.io/gateway-api",
        "v1.2.1",
        ("./pkg/test/cel/",),
        definitions="config/crd/experimental",
        tags="experimental",
        known={"too_many_characters": "expects the words of Kubernetes 1.31"},
    ),
    GoSuite(
        "rabbitmq cluster-operator",
        "github.com/rabbitmq/cluster-operator/v2",
        "v2.11.0",
        ("./api/v1beta1/", "./controllers/"),
    ),
    GoSuite(
        "karpenter",
        "sigs.k8s.io/karpenter",
        "v1.2.0",
        KARPENTER,
        known={
            "consolidation timeout (5m)": "its clock runs ahead where a clean-up takes under 1 s"
        },
    ),
)

KUBECTL_VERSION = "v1.32.10"
KUBECTL_KNOWN = {
    "run_convert_tests": "needs kubectl-convert on the PATH",
    "run_exec_credentials_tests": "asks the TLS handshake for authorities, see Refused",
    "run_multi_resources_tests": "reads a manifest from the internet",
    "run_swagger_tests": "looks for sentences of Kubernetes' descriptions; ours are our own",
}
"""Groups of kubectl's command tests that fail, and the reason."""

CLIENTS = {
    "kubernetes, kubernetes_asyncio, kr8s, lightkube (Python)": "tests/e2e/clients",
    "kopf": "tests/e2e/clients",
    "@kubernetes/client-node 1.4": "tests/compat/node",
    "kube-rs 1.1": "tests/compat/rust",
}
"""Client libraries that a program of ours uses as their users do, and where it is."""
