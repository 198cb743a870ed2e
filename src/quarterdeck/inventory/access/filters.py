"""Which objects of a type may be seen: names, namespaces, labels and values of fields."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.engine.namespaces import compile_wildcard
from quarterdeck.engine.values import to_text
from quarterdeck.inventory.policy import CompiledResource, Pattern

EVERYWHERE = "*"
"""Namespace entry of an operator that serves all namespaces."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an object that filters use. One without namespaces is cluster-scoped."""

    name: str = ""
    namespaces: Sequence[str] = ()
    labels: Mapping[str, str] = {}
    values: Mapping[str, Any] = {}


class NameFilter:
    """Tests names: denied ones are refused; allowed ones pass, or all others if none is listed."""

    __slots__ = ("_allowed", "_allowed_patterns", "_denied", "_denied_patterns", "_known")

    def __init__(
        self,
        allowed: Sequence[str],
        allowed_patterns: Sequence[Pattern],
        denied: Sequence[str],
        denied_patterns: Sequence[Pattern],
    ) -> None:
        self._allowed = frozenset(allowed)
        self._denied = frozenset(denied)
        self._allowed_patterns = [compile_wildcard(each[0]) for each in allowed_patterns]
        self._denied_patterns = [compile_wildcard(each[0]) for each in denied_patterns]
        self._known: dict[str, bool] = {}

    @property
    def accepts_all(self) -> bool:
        """Whether nothing is left out."""
        return not (
            self._allowed or self._denied or self._allowed_patterns or self._denied_patterns
        )

    def matches(self, text: str) -> bool:
        """Whether a name or value may be seen; results are cached, up to a limit."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[text] = self._decide(text)
        return known

    def _decide(self, text: str) -> bool:
        if text in self._denied or any(each.fullmatch(text) for each in self._denied_patterns):
            return False
        if not self._allowed and not self._allowed_patterns:
            return True
        return text in self._allowed or any(each.fullmatch(text) for each in self._allowed_patterns)


class TypeFilter:
    """Decides which objects of one type may be seen, by one rule."""

    def __init__(self, rule: CompiledResource) -> None:
        self.rule = rule
        self.is_hidden = rule.visibility == "none"
        """Whether nothing may be seen."""
        self._names = NameFilter(
            rule.allowed_names, rule.name_patterns, rule.denied_names, rule.deny_name_patterns
        )
        self._namespaces = NameFilter(
            rule.allowed_ns, rule.ns_patterns, rule.denied_ns, rule.deny_ns_patterns
        )
        # a namespace has no namespace: the type `namespaces` is filtered by name alone
        self._ignores_namespaces = rule.type == "namespaces" or self._namespaces.accepts_all
        self._fields = {
            name: NameFilter(
                each.allowed_literals,
                each.allowed_patterns,
                each.denied_literals,
                each.denied_patterns,
            )
            for name, each in rule.field_filters.items()
        }
        self.is_open = not self.is_hidden and (
            self._names.accepts_all
            and self._ignores_namespaces
            and not rule.labels
            and all(each.accepts_all for each in self._fields.values())
        )
        """Whether everything may be seen."""

    def allows(self, item: Item) -> bool:
        """Whether an object may be seen."""
        if self.is_hidden or self.is_open:
            return self.is_open
        return (
            self._includes_name(item.name)
            and self._includes_namespaces(item.namespaces)
            and all(item.labels.get(name) == text for name, text in self.rule.labels.items())
            and all(
                test.matches(to_text(item.values.get(name))) for name, test in self._fields.items()
            )
        )

    def shows_aggregation(self, name: str) -> bool:
        """Whether an aggregation may be seen; exclusion wins."""
        rules = self.rule.aggregation_rules
        include = rules.get("include", ())
        return name not in rules.get("exclude", ()) and (not include or name in include)

    def _includes_name(self, name: str) -> bool:
        return self._names.accepts_all or (bool(name) and self._names.matches(name))

    def _includes_namespaces(self, namespaces: Sequence[str]) -> bool:
        if self._ignores_namespaces or not namespaces or EVERYWHERE in namespaces:
            return True
        return any(map(self._namespaces.matches, namespaces))


OPEN = TypeFilter(CompiledResource(type="", visibility="all"))
"""Everything may be seen."""
HIDDEN = TypeFilter(CompiledResource(type="", visibility="none"))
"""Nothing may be seen."""
_MAX_KNOWN = 10_000
