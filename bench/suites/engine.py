"""The MetricSource engine over pages of pods: against the decoding of the same pods by msgspec, and
against the evaluator that works object by object and serves the tests as an oracle.

The budget is half of what decoding costs and a tenth of the naive evaluator, in processor time.
Pages are decoded before the clock runs, one at a time, as a hub meets them.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from bench.suite import OURS, Case, Contenders, Scale, Suite
from bench.workloads.pods import encode_pages

PAGE = 500
SMALLEST_PAGE = 10
DECODE = "msgspec.json.decode"
NAIVE = "naive evaluator"
NOW = datetime(2026, 12, 31, 12, tzinfo=UTC)

SPEC: dict[str, Any] = {
    "source": {"apiVersion": "v1", "kind": "Pod"},
    "fields": [
        {"name": "phase", "path": ".status.phase"},
        {"name": "node", "path": ".spec.nodeName"},
        {"name": "created", "path": ".metadata.creationTimestamp", "type": "timestamp"},
        {
            "name": "cpu",
            "path": ".spec.containers[0].resources.requests.cpu",
            "type": "quantity",
            "default": "0",
        },
        {
            "name": "memory",
            "path": ".spec.containers[0].resources.requests.memory",
            "type": "quantity",
            "default": "0",
        },
        {
            "name": "restarts",
            "path": ".status.containerStatuses[0].restartCount",
            "type": "integer",
        },
        {"name": "containers", "path": ".spec.containers", "type": "arrayLength"},
        {"name": "app", "path": ".metadata.labels['app.kubernetes.io/name']"},
    ],
    "computed": [
        {"name": "cpuMillis", "expression": "cpu * 1000"},
        {"name": "memoryMi", "expression": "round(memory / 1048576, 1)"},
        {"name": "ageHours", "expression": "round(age(created) / 3600, 2)"},
        {
            "name": "isUnhealthy",
            "expression": "restarts > 5 || phase != 'Running'",
            "type": "boolean",
        },
        {
            "name": "restartRate",
            "expression": "round((restarts ?? 0) / max(ageHours, 1) * 100, 3)",
        },
    ],
    "aggregations": [
        {
            "name": "running",
            "function": "count",
            "filter": {"field": "phase", "operator": "equals", "value": "Running"},
        },
        {"name": "totalCpu", "function": "sum", "field": "cpu"},
        {"name": "averageMemory", "function": "avg", "field": "memoryMi"},
        {"name": "p95Restarts", "function": "percentile", "field": "restarts", "percentile": 95},
        {"name": "memoryByNamespace", "function": "sum", "field": "memory", "groupBy": "namespace"},
    ],
    "collection": {"maxResources": 1_000_000},
}


def cases(scale: Scale) -> Sequence[Case]:
    count = scale.pick(5_000, 100_000, 100_000)
    sizes = scale.pick((1_000, 2_000, 4_000), (12_500, 25_000, 50_000), (25_000, 50_000, 100_000))
    objects = "µs an object"
    return [
        Case(
            name="extract, compute, aggregate",
            unit=objects,
            open=lambda _: _collect(count, with_rows=False),
            rounds=3,
            note="Eight fields, five expressions, five aggregations. Budget: 2 times the cost of "
            "ours for decoding, 10 times for the naive evaluator.",
        ),
        Case(
            name="extract, compute, aggregate, make rows",
            unit=objects,
            open=lambda _: _collect(count, with_rows=True),
            rounds=3,
            note="The rows as the store keeps them, too.",
        ),
        Case(
            name="extract, compute, aggregate, pages of ten",
            unit=objects,
            open=lambda _: _collect(count // 10, with_rows=False, page=SMALLEST_PAGE),
            rounds=3,
            note="The smallest batchSize: what a page costs besides its objects counts here.",
        ),
        Case(
            name="growth by objects",
            unit="µs",
            open=_growth,
            sizes=sizes,
            rounds=3,
        ),
        Case(
            name="memory kept while streaming, growth by objects",
            unit="KB",
            open=_memory,
            sizes=sizes,
            rounds=1,
            note="After the last page, without the pages and rows.",
        ),
    ]


def _spec() -> Any:
    from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec

    return msgspec.convert(SPEC, MetricSourceSpec)


def _spent(work: Callable[[Any], object], pages: Sequence[bytes]) -> float:
    """Microseconds of processor time over all decoded pages."""
    spent = 0.0
    for page in pages:
        objects = msgspec.json.decode(page)
        start = time.process_time()
        work(objects)
        spent += time.process_time() - start
    return spent * 1e6


def _decode(pages: Sequence[bytes]) -> float:
    spent = 0.0
    for page in pages:
        start = time.process_time()
        objects = msgspec.json.decode(page)
        spent += time.process_time() - start
        del objects
    return spent * 1e6


def _engine(pages: Sequence[bytes], *, with_rows: bool) -> float:
    from quarterdeck.engine import compile_source

    collector = compile_source(_spec()).collector(now=NOW)

    def work(objects: Any) -> None:
        batch = collector.feed(objects)
        if with_rows:
            batch.resources()

    spent = _spent(work, pages)
    start = time.process_time()
    collector.finish()
    return spent + (time.process_time() - start) * 1e6


def _naive(pages: Sequence[bytes]) -> float:
    from tests.unit.engine.naive import NaiveSource, aggregate

    source = NaiveSource(_spec(), now=NOW.timestamp(), now_text="2026-12-31T12:00:00Z")
    rows: list[Any] = []

    def work(objects: Any) -> None:
        found = source.rows(objects)
        for row, each in zip(found, objects, strict=True):
            row["namespace"] = each["metadata"]["namespace"]
        rows.extend(found)

    spent = _spent(work, pages)
    start = time.process_time()
    for each in source.spec.aggregations:
        aggregate(rows, each)
    return spent + (time.process_time() - start) * 1e6


def _check(page: bytes) -> None:
    """Both evaluators must agree before either is measured."""
    from tests.unit.engine.naive import NaiveSource

    from quarterdeck.engine import compile_source

    objects = msgspec.json.decode(page)
    found = compile_source(_spec()).collector(now=NOW).feed(objects).resources()
    naive = NaiveSource(_spec(), now=NOW.timestamp(), now_text="2026-12-31T12:00:00Z")
    if [row.values for row in found] != naive.rows(objects):
        raise AssertionError("the engine and the naive evaluator disagree")


@contextmanager
def _collect(count: int, *, with_rows: bool, page: int = PAGE) -> Iterator[Contenders]:
    pages = encode_pages(count, page)
    _check(pages[0])
    few = pages[: max(1, len(pages) // 10)]
    yield {
        OURS: lambda: _engine(pages, with_rows=with_rows) / count,
        DECODE: lambda: _decode(pages) / count,
        NAIVE: lambda: _naive(few) / min(count, len(few) * page),
    }


@contextmanager
def _growth(size: int) -> Iterator[Contenders]:
    pages = encode_pages(size, PAGE)
    yield {OURS: lambda: _engine(pages, with_rows=False)}


@contextmanager
def _memory(size: int) -> Iterator[Contenders]:
    pages = encode_pages(size, PAGE)
    yield {OURS: lambda: _kept(pages)}


def _kept(pages: Sequence[bytes]) -> float:
    """Kilobytes that a collection holds at its end."""
    from quarterdeck.engine import compile_source

    collector = compile_source(_spec()).collector(now=NOW)
    collector.feed(msgspec.json.decode(pages[0]))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for page in pages:
            collector.feed(msgspec.json.decode(page))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / 1024


SUITE = Suite(
    name="engine",
    title="MetricSources: extraction, expressions, aggregations",
    cases=cases,
    versions=("msgspec",),
)
