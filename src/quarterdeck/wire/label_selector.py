"""Label selectors: `env in (a, b), !canary, tier != db`.

Matching, and the canonical text, which `Selector.parse` reads back to an equal selector. The
grammar is in `label_selector_parser`, one term in `label_requirement`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from quarterdeck.wire.conjunction import Term, compile_all
from quarterdeck.wire.label_requirement import (
    Operator,
    Requirement,
    SelectorError,
    build_requirement,
)
from quarterdeck.wire.label_selector_parser import SelectorParser

__all__ = ["EVERYTHING", "NOTHING", "Operator", "Requirement", "Selector", "SelectorError"]


class Selector:
    """A conjunction of requirements, sorted by key; the empty one selects everything."""

    __slots__ = ("matches", "requirements")

    matches: Callable[[Mapping[str, str]], bool]
    """Whether a set of labels satisfies every requirement."""

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda each: each.key))
        self.matches = compile_all([_to_term(each) for each in self.requirements])

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Read a selector.

        Raises:
            SelectorError: with Kubernetes' words.
        """
        return _parse_cached(text)

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> "Selector":
        """Build the selector that requires all of these labels."""
        return cls(
            Requirement(key, Operator.EQUALS, frozenset((value,))) for key, value in labels.items()
        )

    @classmethod
    def from_label_selector(cls, selector: Mapping[str, Any] | None) -> "Selector":
        """Build the selector of a `LabelSelector` object; an absent one selects nothing.

        Raises:
            SelectorError: naming the invalid operator or key.
        """
        if selector is None:
            return NOTHING
        equalities = cls.of(selector.get("matchLabels") or {}).requirements
        expressions = [_parse_expression(each) for each in selector.get("matchExpressions") or ()]
        return cls((*equalities, *expressions))

    @property
    def is_empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.requirements)

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


class _Nothing(Selector):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.matches = lambda labels: False


@functools.lru_cache(maxsize=1024)
def _parse_cached(text: str) -> Selector:
    return Selector(SelectorParser(text).parse_requirements())


def _to_term(requirement: Requirement) -> Term:
    """Convert a requirement to an expression over a set of labels."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    match operator:
        case Operator.EXISTS:
            return Term("it.get({key}) is not None", key)
        case Operator.DOES_NOT_EXIST:
            return Term("it.get({key}) is None", key)
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            return Term("{key}(it)", requirement.matches)
    is_negated = operator in (Operator.NOT_IN, Operator.NOT_EQUALS)
    if len(values) == 1:
        comparison = "!=" if is_negated else "=="
        return Term(f"it.get({{key}}) {comparison} {{value}}", key, next(iter(values)))
    return Term(f"it.get({{key}}) {'not in' if is_negated else 'in'} {{value}}", key, values)


_EXPRESSIONS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def _parse_expression(expression: Mapping[str, Any]) -> Requirement:
    name = expression.get("operator", "")
    operator = _EXPRESSIONS.get(name)
    if operator is None:
        raise SelectorError(f'"{name}" is not a valid label selector operator')
    return build_requirement(expression.get("key", ""), operator, expression.get("values") or ())


EVERYTHING = Selector()
"""Selects everything."""

NOTHING: Selector = _Nothing()
"""Selects nothing: what an absent selector means in most APIs."""
