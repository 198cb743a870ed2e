"""The Protocol of adapters, and values that all of them use."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from quarterdeck.apis.experiments.targets import ClusterSpec, Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments.foreign import ClusterRequest


class Trouble(NamedTuple):
    """An error that the provider reports."""

    message: str
    since: str = ""
    """When it began; empty for an error that counts as permanent at once."""


class Observed(NamedTuple):
    """The observed state of a request for a cluster."""

    is_ready: bool
    message: str = ""
    endpoint: str = ""
    """Host, with the port if that is not 443."""
    resource_name: str = ""
    """Name of the composite resource of a claim, or of the request itself."""
    connection_secret: Key | None = None
    """Where the kubeconfig is or will be; None while that is unknown."""
    trouble: Trouble | None = None


class Shape(NamedTuple):
    """Size of a cluster, for the status and the cost."""

    machine_type: str = ""
    node_count: int = 0


class Adapter(Protocol):
    """A type of cluster: how one is requested and observed."""

    @property
    def kind(self) -> type[ClusterRequest] | None:
        """The kind that requests a cluster; None if nothing is requested."""
        ...

    @property
    def composite(self) -> type[ClusterRequest] | None:
        """The kind of composite resource that clean-up waits for; None if there is none."""
        ...

    @property
    def max_name(self) -> int:
        """How long the name of a cluster may be."""
        ...

    def get_namespace(self, experiment: Experiment) -> str:
        """The namespace of the request."""
        ...

    def build(self, experiment: Experiment, target: Target, name: str) -> Mapping[str, Any]:
        """Build the object that requests the cluster, without labels."""
        ...

    def observe(self, request: ClusterRequest) -> Observed:
        """Read the state of a request. A request that is being deleted is never passed."""
        ...

    def get_shape(self, cluster: ClusterSpec) -> Shape:
        """The size of the cluster, with defaults."""
        ...


def find_condition(request: ClusterRequest, type_: str) -> tuple[str, str, str, str]:
    """Status, reason, message and time of a condition; empty strings if it is absent."""
    for each in request.status.conditions:
        if each.type == type_:
            return each.status, each.reason, each.message, each.last_transition_time
    return "", "", "", ""


def join_endpoint(host: str, port: int) -> str:
    """`host` or `host:port`; IPv6 addresses in brackets."""
    if not host:
        return ""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return shown if port in (0, 443) else f"{shown}:{port}"
