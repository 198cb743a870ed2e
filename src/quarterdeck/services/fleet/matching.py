"""Which pipelines a collector gets, without asking every pipeline.

A pipeline that demands `env=prod` is filed under that pair; a collector looks only at the drawers
of its own attributes, and at the pipelines that demand no exact value.
"""

from collections.abc import Iterable, Mapping

from quarterdeck.services.fleet.records import Pipeline
from quarterdeck.telemetry.matchers import Matcher, Operator, match_all

Drawer = dict[str, tuple[Pipeline, tuple[Matcher, ...]]]


class MatchIndex:
    """Enabled pipelines, filed by one exact demand each."""

    def __init__(self, pipelines: Iterable[Pipeline] = ()) -> None:
        self._drawers: dict[tuple[str, str], Drawer] = {}
        self._rest: Drawer = {}
        self._places: dict[str, tuple[str, str] | None] = {}
        for pipeline in pipelines:
            self.put(pipeline)

    def put(self, pipeline: Pipeline) -> None:
        """Add or replace a pipeline; a disabled one, or one without matchers, goes nowhere."""
        self.remove(pipeline.id)
        matchers = pipeline.parsed()
        if not pipeline.enabled or not matchers:
            return
        place = _place(matchers)
        self._places[pipeline.id] = place
        drawer = self._rest if place is None else self._drawers.setdefault(place, {})
        drawer[pipeline.id] = (pipeline, matchers)

    def remove(self, identity: str) -> None:
        """Forget a pipeline."""
        if identity not in self._places:
            return
        place = self._places.pop(identity)
        if place is None:
            del self._rest[identity]
            return
        drawer = self._drawers[place]
        del drawer[identity]
        if not drawer:
            del self._drawers[place]

    def match(self, attributes: Mapping[str, str], config_type: str) -> list[Pipeline]:
        """The pipelines of a collector with these attributes, by name."""
        found: list[Pipeline] = []
        for pair in attributes.items():
            if (drawer := self._drawers.get(pair)) is not None:
                found.extend(_matching(drawer, attributes, config_type))
        found.extend(_matching(self._rest, attributes, config_type))
        found.sort(key=lambda each: each.name)
        return found


def _matching(
    drawer: Drawer, attributes: Mapping[str, str], config_type: str
) -> Iterable[Pipeline]:
    for pipeline, matchers in drawer.values():
        if pipeline.config_type == config_type and match_all(matchers, attributes):
            yield pipeline


def _place(matchers: tuple[Matcher, ...]) -> tuple[str, str] | None:
    """The pair to file by; an empty value would mean an absent attribute."""
    for matcher in matchers:
        if matcher.operator is Operator.EQUAL and matcher.value:
            return matcher.name, matcher.value
    return None
