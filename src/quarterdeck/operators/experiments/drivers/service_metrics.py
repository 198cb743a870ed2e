"""Metrics stores and kubelets of targets, reached through the target's API server as a proxy."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.client.raw import RawApi
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import redact
from quarterdeck.operators.experiments import kubeconfig
from quarterdeck.operators.experiments.drivers.prometheus import build_path
from quarterdeck.operators.experiments.drivers.targets import to_config
from quarterdeck.operators.experiments.ports import FinishedTarget
from quarterdeck.operators.experiments.results.cadvisor import measure
from quarterdeck.operators.experiments.results.discovery import Candidate, find_candidates
from quarterdeck.operators.experiments.results.document import Point
from quarterdeck.operators.experiments.results.ports import FoundStore, MetricsUnavailable
from quarterdeck.operators.experiments.results.prometheus import QueryError, parse
from quarterdeck.operators.experiments.results.window import Window
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError

_NODES = ResourcePath("", "v1", "nodes")
_SERVICES = ResourcePath("", "v1", "services")
_MAX_PROBES = 5
_UNREADABLE = (ApiError, ClientError, OSError, ValueError)
"""Errors of targets that do not answer, or whose kubeconfigs no request can be made with."""


class ServiceMetrics:
    """Finds a metrics store by the names of Services, and probes the API of Prometheus there."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def find(self, target: FinishedTarget) -> FoundStore | None:
        """Find the first candidate that answers; None if none does."""
        if target.kubeconfig is None:
            return None
        opener = _Opener(target.kubeconfig, self._clock)
        try:
            async with opener.open() as api:
                page = await api.list(_SERVICES, ListOptions())
                services: list[dict[str, Any]] = [json.decode(each) for each in page.items]
                for candidate in find_candidates(services, target.namespace)[:_MAX_PROBES]:
                    with contextlib.suppress(ApiError):
                        await api.read_path(f"{candidate.proxy_path}/api/v1/status/buildinfo")
                        name = f"{candidate.namespace}/{candidate.name}"
                        return FoundStore(name, ProxiedStore(opener, candidate))
        except _UNREADABLE:
            return None  # a target that is going away has no metrics; the hub may have them
        return None


class KubeletMetrics:
    """Reads cAdvisor's pages through the target's API server."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def read(self, target: FinishedTarget, *, now: datetime) -> Mapping[str, Sequence[Point]]:
        """Read CPU and memory of the pods on all nodes; empty if one node cannot be read."""
        if target.kubeconfig is None:
            return {}
        pages = []
        try:
            async with _Opener(target.kubeconfig, self._clock).open() as api:
                nodes = await api.list(_NODES, ListOptions())
                for node in (json.decode(each)["metadata"]["name"] for each in nodes.items):
                    path = f"/api/v1/nodes/{node}/proxy/metrics/cadvisor"
                    pages.append((await api.read_path(path)).decode(errors="replace"))
        except _UNREADABLE:
            return {}
        return measure("\n".join(pages), now=now)


class ProxiedStore:
    """A Service with the API of Prometheus, queried through the API server's proxy."""

    def __init__(self, opener: "_Opener", candidate: Candidate) -> None:
        self._opener = opener
        self._candidate = candidate

    async def query(self, query: str, window: Window, *, is_range: bool) -> Sequence[Point]:
        """Evaluate a query.

        Raises:
            QueryError: if the store refuses it.
            MetricsUnavailable: if the store does not answer.
        """
        path = self._candidate.proxy_path + build_path(query, window, is_range=is_range)
        where = f"{self._candidate.namespace}/{self._candidate.name}"
        try:
            async with self._opener.open() as api:
                return parse(await api.read_path(path))
        except ApiError as error:
            if 400 <= error.code < 500:
                raise QueryError(f"{where}: {redact(error.message)}") from error
            raise MetricsUnavailable(f"{where}: {redact(error.message)}") from error
        except (ClientError, OSError) as error:
            raise MetricsUnavailable(f"{where}: {redact(str(error))}") from error


class _Opener:
    """Opens a connection for each call, because targets come and go."""

    def __init__(self, text: bytes, clock: Clock) -> None:
        self._text = text
        self._clock = clock

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[RawApi]:
        config = to_config(kubeconfig.parse(self._text))
        async with Client(config, clock=self._clock) as client:
            api = client.raw
            assert isinstance(api, RawApi)
            yield api
