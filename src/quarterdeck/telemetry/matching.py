"""Which pipelines a collector gets, without asking every pipeline.

A pipeline is filed under one of its demands: `env=prod` under that pair, `env=~"prod|stage"` under
both pairs, `host=~"edge-1.*"` under the way such hosts begin. A collector looks only into the
drawers of its own attributes, and at the few pipelines that demand nothing of the kind.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from quarterdeck.telemetry.matchers import Matcher, Operator, Predicate
from quarterdeck.telemetry.prefixes import find_beginnings


class Place(NamedTuple):
    """A drawer: an attribute with a value, or with a value that begins so."""

    name: str
    text: str
    is_whole: bool


class Matchable(Protocol):
    """A pipeline, as far as matching needs to know it."""

    @property
    def id(self) -> str:
        """Its identity."""
        ...

    @property
    def name(self) -> str:
        """Its name, by which results are sorted."""
        ...

    @property
    def enabled(self) -> bool:
        """Whether it is delivered."""
        ...

    @property
    def config_type(self) -> str:
        """The language of its configuration."""
        ...

    def parsed(self) -> tuple[Matcher, ...]:
        """Its matchers."""
        ...


P = TypeVar("P", bound=Matchable)


class _Filed(NamedTuple, Generic[P]):
    pipeline: P
    remaining: tuple[Predicate, ...]
    """What its place does not already promise."""


class MatchIndex(Generic[P]):
    """Enabled pipelines, filed by one demand each."""

    def __init__(self, pipelines: Iterable[P] = ()) -> None:
        self._exact: dict[tuple[str, str], dict[str, _Filed[P]]] = {}
        self._begun: dict[str, dict[int, dict[str, dict[str, _Filed[P]]]]] = {}
        self._rest: dict[str, _Filed[P]] = {}
        self._places: dict[str, tuple[Place, ...]] = {}
        for pipeline in pipelines:
            self.put(pipeline)

    def put(self, pipeline: P) -> None:
        """Add or replace a pipeline; a disabled one, or one without matchers, goes nowhere."""
        self.remove(pipeline.id)
        matchers = pipeline.parsed()
        if not pipeline.enabled or not matchers:
            return
        places, promised = _file(matchers)
        remaining = tuple(each.predicate() for each in matchers if each is not promised)
        filed = _Filed(pipeline, remaining)
        self._places[pipeline.id] = places
        for place in places:
            self._drawer(place)[pipeline.id] = filed
        if not places:
            self._rest[pipeline.id] = filed

    def _drawer(self, place: Place) -> dict[str, _Filed[P]]:
        if place.is_whole:
            return self._exact.setdefault((place.name, place.text), {})
        lengths = self._begun.setdefault(place.name, {})
        return lengths.setdefault(len(place.text), {}).setdefault(place.text, {})

    def remove(self, identity: str) -> None:
        """Forget a pipeline."""
        for place in self._places.pop(identity, ()):
            del self._drawer(place)[identity]
            self._remove_if_empty(place)
        self._rest.pop(identity, None)

    def _remove_if_empty(self, place: Place) -> None:
        """Throw away a drawer that has become empty."""
        if self._drawer(place):
            return
        if place.is_whole:
            del self._exact[place.name, place.text]
            return
        lengths = self._begun[place.name]
        del lengths[len(place.text)][place.text]
        if not lengths[len(place.text)]:
            del lengths[len(place.text)]
        if not lengths:
            del self._begun[place.name]

    def match(self, attributes: Mapping[str, str], config_type: str) -> list[P]:
        """The pipelines of a collector with these attributes, by name."""
        found: dict[str, P] = {}
        exact, begun = self._exact, self._begun
        for pair in attributes.items():
            if (drawer := exact.get(pair)) is not None:
                _collect(drawer, attributes, config_type, found)
            name, value = pair
            for length, drawers in begun.get(name, _NONE).items():
                if (drawer := drawers.get(value[:length])) is not None:
                    _collect(drawer, attributes, config_type, found)
        _collect(self._rest, attributes, config_type, found)
        return sorted(found.values(), key=_name)


_NONE: Mapping[int, dict[str, dict[str, Any]]] = {}


def _name(pipeline: P) -> str:
    return pipeline.name


def _collect(
    drawer: Mapping[str, _Filed[P]],
    attributes: Mapping[str, str],
    config_type: str,
    found: dict[str, P],
) -> None:
    for identity, (pipeline, remaining) in drawer.items():
        if pipeline.config_type != config_type:
            continue
        for is_satisfied in remaining:
            if not is_satisfied(attributes):
                break
        else:
            found[identity] = pipeline


def _file(matchers: tuple[Matcher, ...]) -> tuple[tuple[Place, ...], Matcher | None]:
    """The places of a pipeline, and the matcher they promise if they promise one in full.

    The best demand is one for whole values, the next best one for long beginnings. A demand that an
    absent attribute satisfies is none.
    """
    best: tuple[Place, ...] = ()
    for matcher in matchers:
        places = _places(matcher)
        if places and all(place.is_whole for place in places):
            return places, matcher
        if _shortest(places) > _shortest(best):
            best = places
    return best, None


def _places(matcher: Matcher) -> tuple[Place, ...]:
    if matcher.operator is Operator.EQUAL and matcher.value:
        return (Place(matcher.name, matcher.value, is_whole=True),)
    if matcher.operator is not Operator.MATCHES or matcher.pattern.fullmatch(""):
        return ()
    return tuple(Place(matcher.name, *each) for each in find_beginnings(matcher.value))


def _shortest(places: tuple[Place, ...]) -> int:
    """How much is known of a value in these places; -1 for no place at all."""
    return min((len(place.text) for place in places), default=-1)
