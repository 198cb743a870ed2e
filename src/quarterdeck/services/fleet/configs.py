"""The configuration of each collector, computed once per change of pipelines or attributes.

Collectors with the same pipelines share one text, unless a pipeline reads the attributes: then each
collector has its own. A disabled collector gets a comment, not an empty text: Alloy ignores an
empty configuration and would continue with the old one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quarterdeck.services.fleet.candidates import SUFFIX
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import ALLOY, OTEL, Collector, Pipeline
from quarterdeck.telemetry.candidates import digest_contents
from quarterdeck.telemetry.merge import Merged, Part, merge_alloy, merge_otel, uses_attributes

_MAX_SHARED = 4096


class Config(NamedTuple):
    """The configuration of a collector, and the parts it is made of."""

    merged: Merged
    parts: tuple[str, ...]
    """The id and the digest of each pipeline's text, as `7:3f2a9c01d4e5`."""


class _Kept(NamedTuple):
    generation: int
    collector: Collector
    config: Config


class Configs:
    """Merged configurations by collector, and by set of pipelines."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._kept: dict[str, _Kept] = {}
        self._shared: dict[tuple[bool, tuple[tuple[str, int], ...]], Config] = {}
        self._reads: dict[tuple[str, int], bool] = {}

    def get_merged(self, collector: Collector) -> Merged:
        """The merged configuration that a collector should run."""
        return self.get_config(collector).merged

    def get_config(self, collector: Collector) -> Config:
        """The merged configuration of a collector, with its parts."""
        kept = self._kept.get(collector.id)
        generation = self._pipelines.generation
        if (
            kept is not None
            and kept.generation == generation
            and (kept.collector is collector or _has_same_input(kept.collector, collector))
        ):
            return kept.config
        config = self._compute(collector)
        self._kept[collector.id] = _Kept(generation, collector, config)
        return config

    def forget(self, identity: str) -> None:
        """Drop the configuration of a deleted collector."""
        self._kept.pop(identity, None)

    def list_matching(self, collector: Collector) -> list[Pipeline]:
        """The pipelines that a collector receives."""
        if not collector.enabled:
            return []
        config_type = OTEL if _is_otel(collector) else ALLOY
        attributes = collector.get_effective_attributes()
        found = self._pipelines.index.match(attributes, config_type)
        if not self._pipelines.candidates:
            return found
        return [each for each in found if self._is_for(each, collector, attributes)]

    def _is_for(
        self, pipeline: Pipeline, collector: Collector, attributes: Mapping[str, str]
    ) -> bool:
        """Whether a collector receives this one of the two texts of a rollout."""
        identity, mark, _ = pipeline.id.partition(SUFFIX)
        candidate = self._pipelines.candidates.get(identity)
        if candidate is None:
            return True
        return candidate.choice.is_chosen(collector.id, attributes) is bool(mark)

    def _compute(self, collector: Collector) -> Config:
        matched = self.list_matching(collector)
        # without a pipeline both kinds of collectors have the same list, and another language
        key = (_is_otel(collector), tuple((each.id, each.revision) for each in matched))
        if any(self._reads_attributes(each) for each in matched):
            return _merge(matched, collector)
        config = self._shared.get(key)
        if config is None:
            if len(self._shared) >= _MAX_SHARED:
                self._shared.clear()
            config = self._shared[key] = _merge(matched, collector)
        return config

    def _reads_attributes(self, pipeline: Pipeline) -> bool:
        key = (pipeline.id, pipeline.revision)
        if key not in self._reads:
            if len(self._reads) >= _MAX_SHARED:
                self._reads.clear()
            self._reads[key] = uses_attributes(pipeline.contents)
        return self._reads[key]


def _is_otel(collector: Collector) -> bool:
    return collector.collector_type == "COLLECTOR_TYPE_OTEL"


def _merge(pipelines: Sequence[Pipeline], collector: Collector) -> Config:
    digests = [digest_contents(each.contents) for each in pipelines]
    parts = [
        Part(name=each.name, contents=each.contents, revision=digest)
        for each, digest in zip(pipelines, digests, strict=True)
    ]
    labels = tuple(
        f"{each.id.removesuffix(SUFFIX)}:{digest}"
        for each, digest in zip(pipelines, digests, strict=True)
    )
    if _is_otel(collector):
        return Config(merge_otel(parts), labels)
    return Config(merge_alloy(parts, collector.get_effective_attributes()), labels)


def _has_same_input(left: Collector, right: Collector) -> bool:
    return (
        left.enabled == right.enabled
        and left.collector_type == right.collector_type
        and left.local_attributes == right.local_attributes
        and left.remote_attributes == right.remote_attributes
    )
