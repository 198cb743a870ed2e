"""The systems outside the API server that the operator uses, as Protocols.

Everything else (claims, Applications, Workflows, Secrets) is an object of the API server and goes
through the reconcile's context. `app` fills these ports; tests fill them with real servers.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from quarterdeck.apis.experiments.status import CostEstimate, IterationStatus, Verdict
from quarterdeck.apis.experiments.v1alpha1 import Experiment


class TargetRefused(Exception):
    """Raised when a target cluster answers and refuses the credentials of its kubeconfig."""


class TargetUnreachable(Exception):
    """Raised when a target cluster does not answer, or answers with a failure of its own."""


class GrafanaUnavailable(Exception):
    """Raised when Grafana does not answer, or refuses a request."""


class Targets(Protocol):
    """Reaches target clusters by their kubeconfigs; nothing about a kubeconfig is remembered."""

    async def probe(self, kubeconfig: bytes) -> str:
        """The Kubernetes version of the cluster.

        Raises:
            TargetRefused: if the credentials are not accepted, for example because they expired.
            TargetUnreachable: if there is no answer.
        """
        ...

    async def apply(self, kubeconfig: bytes, documents: Sequence[Mapping[str, Any]]) -> None:
        """Server-side apply of objects on the cluster. Raises the same."""
        ...

    async def find_service(
        self, kubeconfig: bytes | None, namespace: str, name: str
    ) -> Mapping[str, Any] | None:
        """A Service on the cluster, or on the hub without a kubeconfig; None if absent."""
        ...


class Administrator(Protocol):
    """Grants rights on clusters whose kubeconfig has none at first, such as those of GKE."""

    async def grant(self, kubeconfig: bytes) -> bool:
        """Make the kubeconfig's user a cluster admin; False if no credential allows that.

        Raises:
            TargetRefused, TargetUnreachable: if a request fails.
        """
        ...


class Datasource(NamedTuple):
    """A Grafana datasource for the metrics of one experiment."""

    uid: str
    name: str
    url: str
    tenant: str
    experiment: str


class Grafana(Protocol):
    """The datasources of one Grafana."""

    async def ensure(self, datasource: Datasource) -> None:
        """Create or update it. Raises `GrafanaUnavailable`."""
        ...

    async def delete(self, uid: str) -> None:
        """Delete it; succeeds if it does not exist. Raises `GrafanaUnavailable`."""
        ...


class FinishedTarget(NamedTuple):
    """A target at the end of a run, while its cluster still exists."""

    name: str
    cluster_type: str
    cluster_name: str
    namespace: str
    """Namespace on the cluster that its components were installed into."""
    kubeconfig: bytes | None
    """None for the hub, and for a cluster that was never ready."""


class FinishedRun(NamedTuple):
    """A run whose workflow has ended, or that failed earlier."""

    experiment: Experiment
    """The experiment in phase Complete or Failed, with the workflow's outputs in its status."""
    targets: tuple[FinishedTarget, ...]
    ended_at: datetime
    """When the phase became Complete or Failed."""
    now: datetime


class Collected(NamedTuple):
    """The outcome of a collection of results."""

    results_url: str = "disabled"
    verdict: Verdict = ""
    iteration: IterationStatus | None = None
    cost: CostEstimate | None = None
    message: str = ""
    retry_after_s: float | None = None
    """Collect again after this time, because the quality gate requires more data."""
    failure: str = ""
    """A reason such as QualityGateExhausted: the experiment becomes Failed."""


class ResultsUnavailable(Exception):
    """Raised when results cannot be collected or stored now; the operator tries again."""


class Results(Protocol):
    """Collects metrics, evaluates the hypothesis, estimates cost and stores the results."""

    async def collect(self, run: FinishedRun) -> Collected:
        """Collect and store results; called until `retry_after_s` is None, so must be idempotent.

        Raises:
            ResultsUnavailable: to be called again, until ten minutes after the end of the run.
        """
        ...


class NoResults:
    """Stores no results; used until a store is configured."""

    async def collect(self, run: FinishedRun) -> Collected:
        """Return that no results store is configured."""
        return Collected(message="no results store is configured")
