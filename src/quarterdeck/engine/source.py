"""Compiles a MetricSource: every problem at once, or an object that collects."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.engine.collector import Collector
from quarterdeck.engine.results import AggregationValue, Resource
from quarterdeck.engine.target import Target


class CompiledSource(Protocol):
    """A MetricSource that is known to make sense. Holds no state of a collection."""

    spec: MetricSourceSpec
    target: Target
    hash: str
    """16 hexadecimal digits that change with the spec."""

    def collector(self, *, now: datetime, limit: int | None = None) -> Collector:
        """Start a collection from one cluster.

        `now` is what the functions `now` and `age` see; `limit` is spec.collection.maxResources
        if left out.
        """
        ...

    def aggregate(self, resources: Iterable[Resource]) -> dict[str, AggregationValue]:
        """Aggregations over rows that are at hand, such as those that a user may see."""
        ...

    def definition(
        self, *, name: str, namespace: str, resource: str, compiled_at: str
    ) -> dict[str, Any]:
        """The compiled source in the JSON shape of `metricsource:{namespace}:{name}`."""
        ...


def compile_source(spec: MetricSourceSpec) -> CompiledSource:
    """Check and compile.

    Raises:
        SourceError: with every problem of the spec.
    """
    raise NotImplementedError("the engine cannot compile a MetricSource yet")


def hash_spec(spec: MetricSourceSpec) -> str:
    """The first 8 bytes of SHA-256 over the spec as canonical JSON, in hexadecimal."""
    plain = msgspec.to_builtins(spec)
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()[:16]
