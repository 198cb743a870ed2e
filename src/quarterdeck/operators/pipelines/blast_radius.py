"""Computes which collectors a change would affect, before anything is sent. Pure.

Only pipelines that differ are matched, with the index that the fleet server uses, so ten thousand
collectors and hundreds of pipelines take a fraction of a second.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quarterdeck.apis.fleetmanagement import rollout as status
from quarterdeck.operators.pipelines.desired import Desired
from quarterdeck.operators.pipelines.ports import Remote, RemoteCollector
from quarterdeck.telemetry.candidates import digest_contents
from quarterdeck.telemetry.matchers import Matcher, MatcherError, canonicalize, parse_all
from quarterdeck.telemetry.matching import MatchIndex
from quarterdeck.telemetry.merge import Part, merge_alloy, merge_otel

OTEL = "CONFIG_TYPE_OTEL"
MAX_DIFF_LINES = 400


class Planned(NamedTuple):
    """A pipeline before or after the change."""

    name: str
    contents: str
    matchers: tuple[str, ...]
    enabled: bool = True
    config_type: str = "CONFIG_TYPE_ALLOY"

    @property
    def id(self) -> str:
        """The name serves as id, because names are unique in a fleet."""
        return self.name

    def parse_matchers(self) -> tuple[Matcher, ...]:
        """Its matchers; none if one is invalid, so that it matches no collector."""
        try:
            return parse_all(self.matchers)
        except MatcherError:
            return ()

    @classmethod
    def of(cls, pipeline: Remote | Desired) -> "Planned":
        """Build it from a pipeline of the server, or from a desired one."""
        return cls(
            pipeline.name,
            pipeline.contents,
            pipeline.matchers,
            pipeline.enabled,
            pipeline.config_type,
        )


class Change(NamedTuple):
    """How many collectors gain, lose or change one pipeline."""

    name: str
    gain: int = 0
    lose: int = 0
    change: int = 0


class Impact(NamedTuple):
    """The collectors that gain, lose or run another text, by id, in order."""

    collectors: int
    gain: tuple[str, ...]
    lose: tuple[str, ...]
    change: tuple[str, ...]
    pipelines: tuple[Change, ...] = ()

    @property
    def affected(self) -> tuple[str, ...]:
        """Every collector that something changes for."""
        return tuple(sorted({*self.gain, *self.lose, *self.change}))

    def summarize(self) -> status.Impact:
        """Numbers and a sample of the affected collectors, for a status."""
        return status.Impact(
            collectors=self.collectors,
            gain=len(self.gain),
            lose=len(self.lose),
            change=len(self.change),
            sample=self.affected[: status.MAX_SAMPLE],
        )

    def __str__(self) -> str:
        count = len(self.affected)
        text = (
            f"{count} of {self.collectors} collectors affected: {len(self.gain)} gain, "
            f"{len(self.lose)} lose, {len(self.change)} change"
        )
        sample = self.affected[: status.MAX_SAMPLE]
        rest = count - len(sample)
        names = ", ".join(sample) + (f" and {rest} more" if rest > 0 else "")
        return f"{text}; {names}" if names else text


def plan_impact(
    collectors: Sequence[RemoteCollector], before: Iterable[Planned], after: Iterable[Planned]
) -> Impact:
    """The effect on collectors if the pipelines `before` became `after`."""
    old = {each.name: each for each in before}
    new = {each.name: each for each in after}
    changed = [name for name in old.keys() | new.keys() if _differs(old.get(name), new.get(name))]
    retexted = [name for name in changed if _reaches_the_same(old.get(name), new.get(name))]
    moved = [name for name in changed if name not in frozenset(retexted)]
    was = MatchIndex(old[name] for name in moved if name in old)
    will_be = MatchIndex(new[name] for name in moved if name in new)
    stays = MatchIndex(new[name] for name in retexted)
    digests = _Digests()
    found: dict[str, list[str]] = {"gain": [], "lose": [], "change": []}
    counts: Counter[tuple[str, str]] = Counter()
    for collector in collectors:
        attributes = collector.attributes
        verdicts = [(name, "change") for name in _match(stays, collector, attributes)]
        if moved:
            had = _match(was, collector, attributes)
            verdicts += _compare(had, _match(will_be, collector, attributes), digests)
        counts.update(verdicts)
        for kind in {kind for _, kind in verdicts}:
            found[kind].append(collector.id)
    return Impact(
        len(collectors),
        gain=tuple(sorted(found["gain"])),
        lose=tuple(sorted(found["lose"])),
        change=tuple(sorted(found["change"])),
        pipelines=tuple(_count(name, counts) for name in sorted(changed)),
    )


def diff_config(
    collector: RemoteCollector, before: Iterable[Planned], after: Iterable[Planned]
) -> str:
    """A unified diff of the merged configuration of one collector; empty if nothing changes."""
    now, then = (merge_config(collector, each).splitlines() for each in (before, after))
    heads = (f"{collector.id} now", f"{collector.id} after")
    lines = list(difflib.unified_diff(now, then, *heads, lineterm="", n=2))
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return "\n".join(lines)


def merge_config(collector: RemoteCollector, pipelines: Iterable[Planned]) -> str:
    """The configuration of a collector."""
    return _merge(collector, _match(MatchIndex(pipelines), collector, collector.attributes))


class _Digests:
    """Digests of texts, computed once each."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def get(self, pipeline: Planned) -> str:
        found = self._known.get(pipeline.contents)
        if found is None:
            found = self._known[pipeline.contents] = digest_contents(pipeline.contents)
        return found


def _differs(old: Planned | None, new: Planned | None) -> bool:
    if old is None or new is None:
        return True
    if canonicalize(old.matchers) != canonicalize(new.matchers):
        return True
    return old._replace(matchers=()) != new._replace(matchers=())


def _reaches_the_same(old: Planned | None, new: Planned | None) -> bool:
    """Whether only the text of a pipeline changes, so that matching once is enough."""
    if old is None or new is None or old.contents == new.contents:
        return False
    return not _differs(old._replace(contents=""), new._replace(contents=""))


def _match(
    index: MatchIndex[Planned], collector: RemoteCollector, attributes: Mapping[str, str]
) -> dict[str, Planned]:
    if not collector.enabled:
        return {}
    config_type = OTEL if collector.is_otel else "CONFIG_TYPE_ALLOY"
    return {each.name: each for each in index.match(attributes, config_type)}


def _compare(
    had: Mapping[str, Planned], gets: Mapping[str, Planned], digests: _Digests
) -> list[tuple[str, str]]:
    found = [(name, "lose") for name in had if name not in gets]
    for name, pipeline in gets.items():
        if name not in had:
            found.append((name, "gain"))
        elif digests.get(had[name]) != digests.get(pipeline):
            found.append((name, "change"))
    return found


def _count(name: str, counts: Counter[tuple[str, str]]) -> Change:
    return Change(name, counts[name, "gain"], counts[name, "lose"], counts[name, "change"])


def _merge(collector: RemoteCollector, pipelines: Mapping[str, Planned]) -> str:
    parts = [
        Part(name=each.name, contents=each.contents, revision=digest_contents(each.contents))
        for each in pipelines.values()
    ]
    if collector.is_otel:
        return merge_otel(parts).content
    return merge_alloy(parts, collector.attributes).content
