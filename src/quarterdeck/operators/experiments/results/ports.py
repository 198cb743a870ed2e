"""Metrics stores and the storage of results, as Protocols."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments.ports import FinishedTarget
from quarterdeck.operators.experiments.results.document import Point
from quarterdeck.operators.experiments.results.window import Window


class MetricsUnavailable(Exception):
    """Raised when a metrics store does not answer, or answers with a failure of its own."""


class StoreUnavailable(Exception):
    """Raised when results cannot be written or read."""


class MetricsStore(Protocol):
    """A metrics store that answers PromQL queries."""

    async def query(self, query: str, window: Window, *, is_range: bool) -> Sequence[Point]:
        """Evaluate a query at the end of a window, or over all of it if `is_range`.

        Raises:
            QueryError: if the store refuses the query.
            MetricsUnavailable: if it does not answer.
        """
        ...


class FoundStore(NamedTuple):
    """A metrics store on a target."""

    name: str
    """namespace/service."""
    store: MetricsStore


class TargetStores(Protocol):
    """Finds metrics stores on targets."""

    async def find(self, target: FinishedTarget) -> FoundStore | None:
        """Find the metrics store of a target; None if there is none, or it cannot be reached."""
        ...


class NodeMetrics(Protocol):
    """Reads CPU and memory of pods from a target's kubelets."""

    async def read(self, target: FinishedTarget, *, now: datetime) -> Mapping[str, Sequence[Point]]:
        """Points of the default metrics by name; empty if the kubelets do not answer."""
        ...


class ResultStore(Protocol):
    """Stores the files of runs."""

    async def write(self, experiment: Experiment, files: Mapping[str, bytes]) -> str:
        """Write the files of a run, replacing earlier ones; returns their URL.

        Raises:
            StoreUnavailable: naming the location and the cause.
        """
        ...

    async def read(self, url: str, name: str) -> bytes:
        """Read a file at a URL that `write` returned. Raises `StoreUnavailable`."""
        ...
