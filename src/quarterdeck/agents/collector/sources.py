"""The MetricSources a collector has, and when each is due. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.engine.errors import SourceError
from quarterdeck.engine.source import CompiledSource, compile_source

_SLACK_S = 1.0


class _Document(msgspec.Struct, frozen=True):
    name: str
    namespace: str
    spec: MetricSourceSpec


class Scheduled(msgspec.Struct):
    """A source, and when it is collected next."""

    identity: str
    source: CompiledSource
    due_at: float


class SourceSchedule:
    """The MetricSources that the hub has sent; unchanged ones keep their schedule."""

    def __init__(self) -> None:
        self._known: dict[str, Scheduled] = {}

    def __len__(self) -> int:
        return len(self._known)

    def replace(self, documents: Sequence[bytes], now: float) -> list[str]:
        """Replace all sources; returns why some cannot be used."""
        problems: list[str] = []
        fresh: dict[str, Scheduled] = {}
        for data in documents:
            try:
                document = msgspec.json.decode(data, type=_Document)
                source = compile_source(document.spec)
            except (msgspec.DecodeError, SourceError) as error:
                problems.append(str(error))
                continue
            identity = f"{document.namespace}/{document.name}"
            before = self._known.get(identity)
            is_same = before is not None and before.source.hash == source.hash
            fresh[identity] = (
                before if before is not None and is_same else Scheduled(identity, source, now)
            )
        self._known = fresh
        return problems

    def take_due(self, now: float) -> list[Scheduled]:
        """Return the sources to collect now, and schedule each again after its interval."""
        due = [each for each in self._known.values() if each.due_at <= now + _SLACK_S]
        for each in due:
            each.due_at = now + each.source.spec.collection.interval_seconds
        return due

    def next_due(self, others: Iterable[float]) -> float:
        """Earliest due time of the sources and of `others`."""
        return min([*(each.due_at for each in self._known.values()), *others])
