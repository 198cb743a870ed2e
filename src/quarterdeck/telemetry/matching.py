"""Finds the pipelines of a collector by an index, without testing every pipeline.

A pipeline is indexed by one of its matchers: `env=prod` by that pair, `env=~"prod|stage"` by both
pairs, `host=~"edge-1.*"` by the prefix of the value. For a collector, only the entries of its own
attributes are tested, and the few pipelines without such a matcher.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from quarterdeck.telemetry.matchers import Matcher, Operator, Predicate
from quarterdeck.telemetry.prefixes import find_prefixes


class IndexKey(NamedTuple):
    """A key of the index: an attribute with a value, or with a prefix of its value."""

    name: str
    text: str
    is_whole: bool


class Matchable(Protocol):
    """The members of a pipeline that matching uses."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def name(self) -> str:
        """Its name, by which results are sorted."""
        ...

    @property
    def enabled(self) -> bool:
        """Whether it is delivered to collectors."""
        ...

    @property
    def config_type(self) -> str:
        """The language of its configuration."""
        ...

    def parse_matchers(self) -> tuple[Matcher, ...]:
        """Its matchers."""
        ...


P = TypeVar("P", bound=Matchable)


class _Indexed(NamedTuple, Generic[P]):
    pipeline: P
    remaining: tuple[Predicate, ...]
    """The matchers that its key in the index does not imply."""


class MatchIndex(Generic[P]):
    """An index of enabled pipelines, each by one of its matchers."""

    def __init__(self, pipelines: Iterable[P] = ()) -> None:
        self._exact: dict[tuple[str, str], dict[str, _Indexed[P]]] = {}
        self._by_prefix: dict[str, dict[int, dict[str, dict[str, _Indexed[P]]]]] = {}
        self._rest: dict[str, _Indexed[P]] = {}
        self._keys: dict[str, tuple[IndexKey, ...]] = {}
        for pipeline in pipelines:
            self.put(pipeline)

    def put(self, pipeline: P) -> None:
        """Add or replace a pipeline; one that is disabled or has no matchers is not indexed."""
        self.remove(pipeline.id)
        matchers = pipeline.parse_matchers()
        if not pipeline.enabled or not matchers:
            return
        keys, promised = _choose_keys(matchers)
        remaining = tuple(each.predicate() for each in matchers if each is not promised)
        indexed = _Indexed(pipeline, remaining)
        self._keys[pipeline.id] = keys
        for key in keys:
            self._ensure_entry(key)[pipeline.id] = indexed
        if not keys:
            self._rest[pipeline.id] = indexed

    def _ensure_entry(self, key: IndexKey) -> dict[str, _Indexed[P]]:
        if key.is_whole:
            return self._exact.setdefault((key.name, key.text), {})
        lengths = self._by_prefix.setdefault(key.name, {})
        return lengths.setdefault(len(key.text), {}).setdefault(key.text, {})

    def remove(self, identity: str) -> None:
        """Remove a pipeline."""
        for key in self._keys.pop(identity, ()):
            del self._ensure_entry(key)[identity]
            self._remove_if_empty(key)
        self._rest.pop(identity, None)

    def _remove_if_empty(self, key: IndexKey) -> None:
        """Remove an entry of the index that has become empty."""
        if self._ensure_entry(key):
            return
        if key.is_whole:
            del self._exact[key.name, key.text]
            return
        lengths = self._by_prefix[key.name]
        del lengths[len(key.text)][key.text]
        if not lengths[len(key.text)]:
            del lengths[len(key.text)]
        if not lengths:
            del self._by_prefix[key.name]

    def match(self, attributes: Mapping[str, str], config_type: str) -> list[P]:
        """Find the pipelines of a collector with these attributes, sorted by name."""
        found: dict[str, P] = {}
        exact, by_prefix = self._exact, self._by_prefix
        for pair in attributes.items():
            if (entry := exact.get(pair)) is not None:
                _collect(entry, attributes, config_type, found)
            name, value = pair
            for length, entries in by_prefix.get(name, _NONE).items():
                if (entry := entries.get(value[:length])) is not None:
                    _collect(entry, attributes, config_type, found)
        _collect(self._rest, attributes, config_type, found)
        return sorted(found.values(), key=_name)


_NONE: Mapping[int, dict[str, dict[str, Any]]] = {}


def _name(pipeline: P) -> str:
    return pipeline.name


def _collect(
    entry: Mapping[str, _Indexed[P]],
    attributes: Mapping[str, str],
    config_type: str,
    found: dict[str, P],
) -> None:
    for identity, (pipeline, remaining) in entry.items():
        if pipeline.config_type != config_type:
            continue
        for is_satisfied in remaining:
            if not is_satisfied(attributes):
                break
        else:
            found[identity] = pipeline


def _choose_keys(matchers: tuple[Matcher, ...]) -> tuple[tuple[IndexKey, ...], Matcher | None]:
    """Choose the index keys of a pipeline; also returns the matcher that they imply, if any.

    A matcher for whole values is best, then one for long prefixes. A matcher that an absent
    attribute satisfies cannot be used.
    """
    best: tuple[IndexKey, ...] = ()
    for matcher in matchers:
        keys = _list_keys(matcher)
        if keys and all(key.is_whole for key in keys):
            return keys, matcher
        if _measure_shortest(keys) > _measure_shortest(best):
            best = keys
    return best, None


def _list_keys(matcher: Matcher) -> tuple[IndexKey, ...]:
    if matcher.operator is Operator.EQUAL and matcher.value:
        return (IndexKey(matcher.name, matcher.value, is_whole=True),)
    if matcher.operator is not Operator.MATCHES or matcher.pattern.fullmatch(""):
        return ()
    return tuple(IndexKey(matcher.name, *each) for each in find_prefixes(matcher.value))


def _measure_shortest(keys: tuple[IndexKey, ...]) -> int:
    """Length of the shortest value or prefix in these keys; -1 without keys."""
    return min((len(key.text) for key in keys), default=-1)
