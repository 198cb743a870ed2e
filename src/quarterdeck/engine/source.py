"""Compiles a MetricSource; an invalid one is refused with all its problems."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.engine.aggregation import BatchView
from quarterdeck.engine.alerts import CompiledAlert
from quarterdeck.engine.builder import Builder
from quarterdeck.engine.collector import Collector
from quarterdeck.engine.definition import define
from quarterdeck.engine.errors import SourceError
from quarterdeck.engine.expressions.compiler import Moment
from quarterdeck.engine.identity import Identity
from quarterdeck.engine.program import Program
from quarterdeck.engine.results import AggregationValue, Resource
from quarterdeck.engine.target import Target
from quarterdeck.kit import rfc3339


class CompiledSource:
    """A valid, compiled MetricSource. Holds no state of a collection."""

    spec: MetricSourceSpec
    target: Target
    hash: str
    """16 hexadecimal digits that change with the spec."""

    alerts: tuple[CompiledAlert, ...]

    def __init__(
        self, spec: MetricSourceSpec, program: Program, alerts: Iterable[CompiledAlert] = ()
    ) -> None:
        self.spec = spec
        self.target = program.target
        self.hash = hash_spec(spec)
        self.alerts = tuple(alerts)
        self._program = program

    def collector(self, *, now: datetime, limit: int | None = None) -> Collector:
        """Start a collection from one cluster.

        `now` is what the functions `now` and `age` see; `limit` is spec.collection.maxResources
        if left out.
        """
        moment = Moment(now.timestamp(), rfc3339.format_time(now))
        most = self.spec.collection.max_resources if limit is None else limit
        return Collector(self._program, moment, most)

    def aggregate(self, resources: Iterable[Resource]) -> dict[str, AggregationValue]:
        """Compute aggregations over given rows, such as those that a user may see."""
        rows = list(resources)
        identity = Identity([row.name for row in rows], [row.namespace for row in rows], [])
        columns = self._program.metadata_columns(identity)
        for name in self._program.columns:
            columns[name] = [row.values.get(name) for row in rows]
        view = BatchView(columns, len(rows))
        found = {}
        for aggregation in self._program.aggregations:
            running = aggregation.start()
            running.update(view)
            found[aggregation.spec.name] = running.result()
        return found

    def definition(
        self, *, name: str, namespace: str, resource: str, compiled_at: str
    ) -> dict[str, Any]:
        """The compiled source in the JSON shape of `metricsource:{namespace}:{name}`."""
        paths = {field.name: field.path for field in self._program.fields}
        defined = define(self.spec, self.target, paths=paths)
        defined["source"]["resource"] = resource
        identity = {"name": name, "namespace": namespace}
        return identity | defined | {"compiledAt": compiled_at, "hash": self.hash}


def compile_source(spec: MetricSourceSpec) -> CompiledSource:
    """Check and compile.

    Raises:
        SourceError: with every problem of the spec.
    """
    builder = Builder(spec)
    builder.build()
    if builder.problems:
        raise SourceError(tuple(builder.problems))
    program = Program(
        Target.from_spec(spec.source),
        builder.fields,
        computed=builder.computed,
        aggregations=builder.aggregations,
        names=[*(field.name for field in spec.fields), *(each.name for each in spec.computed)],
    )
    return CompiledSource(spec, program, builder.alerts)


def hash_spec(spec: MetricSourceSpec) -> str:
    """The first 8 bytes of SHA-256 over the spec as canonical JSON, in hexadecimal."""
    plain = msgspec.to_builtins(spec)
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()[:16]
