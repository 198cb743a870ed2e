"""The MetricSource engine: paths, types, expressions, filters and aggregations. Pure: no I/O.

    source = compile_source(metric_source.spec)          # SourceError has every problem at once
    collector = source.collector(now=clock.now())
    for page in pages:                                   # lists of decoded objects
        batch = collector.feed(page)                     # batch.resources() has the rows
    values = collector.finish()                          # aggregations by name

Imports `apis`, `meta` and `kit`. The order of processing: `paths` (text to steps), `extraction`
(objects to columns), `conversion` (field types), `expressions` (computed columns), `filters` and
`aggregation` (columns to numbers). Everything works on columns of a batch, because the checks that
a dynamic language needs are then paid once a column and not once a value. Start at `source`.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.engine.collector import Batch, Collector
    from quarterdeck.engine.errors import EngineError, Problem, SourceError
    from quarterdeck.engine.namespaces import NamespaceFilter, compile_wildcard
    from quarterdeck.engine.results import (
        AggregationResults,
        AggregationValue,
        CollectionMeta,
        Number,
        Resource,
        ResourceCollection,
        Value,
    )
    from quarterdeck.engine.source import CompiledSource, compile_source
    from quarterdeck.engine.target import Target, guess_resource
    from quarterdeck.engine.validation import validate_fields

__all__ = [
    "AggregationResults",
    "AggregationValue",
    "Batch",
    "CollectionMeta",
    "Collector",
    "CompiledSource",
    "EngineError",
    "NamespaceFilter",
    "Number",
    "Problem",
    "Resource",
    "ResourceCollection",
    "SourceError",
    "Target",
    "Value",
    "compile_source",
    "compile_wildcard",
    "guess_resource",
    "validate_fields",
]

_HOMES = {
    "collector": ("Batch", "Collector"),
    "errors": ("EngineError", "Problem", "SourceError"),
    "namespaces": ("NamespaceFilter", "compile_wildcard"),
    "results": (
        "AggregationResults",
        "AggregationValue",
        "CollectionMeta",
        "Number",
        "Resource",
        "ResourceCollection",
        "Value",
    ),
    "source": ("CompiledSource", "compile_source"),
    "target": ("Target", "guess_resource"),
    "validation": ("validate_fields",),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
