"""The configuration of each collector, computed once per change of pipelines or attributes.

Collectors with the same pipelines share one text, unless a pipeline reads the attributes: then the
text is the collector's own. A collector that is switched off gets a comment, never nothing: Alloy
ignores an empty configuration and would go on with the old one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import ALLOY, OTEL, Collector, Pipeline
from quarterdeck.telemetry.merge import Merged, Part, merge_alloy, merge_otel, uses_attributes

_MAX_SHARED = 4096


class _Kept(NamedTuple):
    generation: int
    collector: Collector
    merged: Merged


class Configs:
    """Merged configurations by collector, and by set of pipelines."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._kept: dict[str, _Kept] = {}
        self._shared: dict[tuple[tuple[str, int], ...], Merged] = {}
        self._reads: dict[tuple[str, int], bool] = {}

    def get_merged(self, collector: Collector) -> Merged:
        """What a collector should run now."""
        kept = self._kept.get(collector.id)
        generation = self._pipelines.generation
        if (
            kept is not None
            and kept.generation == generation
            and (kept.collector is collector or _same_input(kept.collector, collector))
        ):
            return kept.merged
        merged = self._compute(collector)
        self._kept[collector.id] = _Kept(generation, collector, merged)
        return merged

    def forget(self, identity: str) -> None:
        """A collector is gone."""
        self._kept.pop(identity, None)

    def list_matching(self, collector: Collector) -> list[Pipeline]:
        """The pipelines a collector gets."""
        if not collector.enabled:
            return []
        config_type = OTEL if collector.collector_type == "COLLECTOR_TYPE_OTEL" else ALLOY
        return self._pipelines.index.match(collector.effective_attributes(), config_type)

    def _compute(self, collector: Collector) -> Merged:
        matched = self.list_matching(collector)
        key = tuple((each.id, each.revision) for each in matched)
        if any(self._reads_attributes(each) for each in matched):
            return _merge(matched, collector)
        merged = self._shared.get(key)
        if merged is None:
            if len(self._shared) >= _MAX_SHARED:
                self._shared.clear()
            merged = self._shared[key] = _merge(matched, collector)
        return merged

    def _reads_attributes(self, pipeline: Pipeline) -> bool:
        key = (pipeline.id, pipeline.revision)
        if key not in self._reads:
            if len(self._reads) >= _MAX_SHARED:
                self._reads.clear()
            self._reads[key] = uses_attributes(pipeline.contents)
        return self._reads[key]


def _merge(pipelines: Sequence[Pipeline], collector: Collector) -> Merged:
    parts = [
        Part(name=each.name, contents=each.contents, revision=str(each.revision))
        for each in pipelines
    ]
    if collector.collector_type == "COLLECTOR_TYPE_OTEL":
        return merge_otel(parts)
    return merge_alloy(parts, collector.effective_attributes())


def _same_input(left: Collector, right: Collector) -> bool:
    return (
        left.enabled == right.enabled
        and left.collector_type == right.collector_type
        and left.local_attributes == right.local_attributes
        and left.remote_attributes == right.remote_attributes
    )
