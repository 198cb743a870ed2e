"""Field selectors: `metadata.name=web,status.phase!=Failed`."""

import enum
import functools
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from quarterdeck.wire.conjunction import Term, compile_all
from quarterdeck.wire.label_selector import SelectorError


class FieldOperator(enum.StrEnum):
    """The operators of field selectors."""

    EQUALS = "="
    NOT_EQUALS = "!="


class FieldRequirement(NamedTuple):
    """One term of a field selector."""

    field: str
    operator: FieldOperator
    value: str

    def matches(self, value: str) -> bool:
        """Whether a field's value satisfies it; an absent field is the empty string."""
        return (value == self.value) is (self.operator is FieldOperator.EQUALS)

    def __str__(self) -> str:
        return f"{self.field}{self.operator.value}{escape(self.value)}"


class FieldSelector:
    """A conjunction of comparisons; the empty one selects everything."""

    __slots__ = ("matches", "requirements")

    matches: Callable[[Callable[[str], str]], bool]
    """Whether the fields satisfy every requirement; takes a function from field to value."""

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(requirements)
        self.matches = compile_all([_to_term(each) for each in self.requirements])

    @classmethod
    def parse(cls, text: str) -> "FieldSelector":
        """Read a selector.

        Raises:
            SelectorError: with Kubernetes' words.
        """
        return _parse_cached(text)

    @classmethod
    def equal(cls, field: str, value: str) -> "FieldSelector":
        """Build the selector that requires one value of one field."""
        return cls((FieldRequirement(field, FieldOperator.EQUALS, value),))

    def exact(self, field: str) -> str | None:
        """Return the value that the selector requires of a field; None if it requires none."""
        for each in self.requirements:
            if each.field == field and each.operator is FieldOperator.EQUALS:
                return each.value
        return None

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.requirements)

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


def _to_term(requirement: FieldRequirement) -> Term:
    comparison = "==" if requirement.operator is FieldOperator.EQUALS else "!="
    return Term(f"it({{key}}) {comparison} {{value}}", requirement.field, requirement.value)


_TERM = re.compile(r"(?:[^\\,]|\\.)*", re.S)
_OPERATOR = re.compile(r"((?:[^\\=!]|\\.|!(?!=))*)(!=|==|=)(.*)", re.S)


@functools.lru_cache(maxsize=1024)
def _parse_cached(text: str) -> FieldSelector:
    return FieldSelector(_parse_term(term, text) for term in _split(text) if term)


def _split(text: str) -> list[str]:
    """Split at commas that are not escaped by a backslash."""
    terms: list[str] = []
    position = 0
    while position <= len(text):
        match = _TERM.match(text, position)
        end = match.end() if match else position
        if end < len(text) and text[end] != ",":
            end = len(text)
        terms.append(text[position:end])
        position = end + 1
    return terms


def _parse_term(term: str, whole: str) -> FieldRequirement:
    match = _OPERATOR.fullmatch(term)
    if match is None:
        raise SelectorError(f"invalid selector: '{whole}'; can't understand '{term}'")
    name, operator, value = match.groups()
    chosen = FieldOperator.NOT_EQUALS if operator == "!=" else FieldOperator.EQUALS
    return FieldRequirement(name, chosen, unescape(value))


def escape(value: str) -> str:
    """Escape the special characters of a selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def unescape(value: str) -> str:
    """Undo `escape`.

    Raises:
        SelectorError: for a backslash before anything else, or an unprotected separator.
    """
    if "\\" not in value and "," not in value and "=" not in value:
        return value
    result: list[str] = []
    characters = iter(value)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            if following not in ("\\", ",", "=") or not following:
                raise SelectorError(
                    f"invalid field selector: invalid escape sequence: {character}{following}"
                )
            result.append(following)
        elif character in ",=":
            raise SelectorError(
                f"invalid field selector: unescaped character in value: {ord(character)}"
            )
        else:
            result.append(character)
    return "".join(result)
