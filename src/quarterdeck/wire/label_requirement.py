"""One term of a label selector: a key, an operator and values, checked as Kubernetes does."""

import enum
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from quarterdeck.meta import field, names


class SelectorError(ValueError):
    """Raised when a text is not a selector; the message is what the API answers."""


class Operator(enum.StrEnum):
    """How a requirement compares; the value is how Kubernetes names it."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = "gt"
    LESS_THAN = "lt"


class Requirement(msgspec.Struct, frozen=True):
    """One term of a selector."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a set of labels satisfies it."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.IN | Operator.EQUALS | Operator.DOUBLE_EQUALS:
                return value in self.values
            case Operator.NOT_IN | Operator.NOT_EQUALS:
                return value not in self.values
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return self._compare(value)

    def _compare(self, value: str | None) -> bool:
        bound = int(next(iter(self.values)))
        if value is None or not _is_integer(value):
            return False
        number = int(value)
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        values = sorted(self.values)
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(values)})"
            case Operator.GREATER_THAN:
                return f"{self.key}>{values[0]}"
            case Operator.LESS_THAN:
                return f"{self.key}<{values[0]}"
            case _:
                return f"{self.key}{self.operator.value}{values[0]}"


def build_requirement(key: str, operator: Operator, values: Iterable[str]) -> Requirement:
    """Check what Kubernetes checks when it makes a requirement."""
    listed = tuple(values)
    problems = [field.invalid("key", key, text) for text in names.check_qualified_name(key)]
    match operator:
        case Operator.IN | Operator.NOT_IN if not listed:
            problems.append(
                field.invalid(
                    "values",
                    field.Bare("[]"),
                    "for 'in', 'notin' operators, values set can't be empty",
                )
            )
        case Operator.EXISTS | Operator.DOES_NOT_EXIST if listed:
            problems.append(
                field.invalid(
                    "values", list(listed), "values set must be empty for exists and does not exist"
                )
            )
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            problems.extend(_check_numbers(listed))
    for index, value in enumerate(listed):
        problems.extend(
            field.invalid(f"values[{index}][{key}]", value, text)
            for text in names.check_label_value(value)
        )
    if problems:
        texts = [str(problem) for problem in problems]
        raise SelectorError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return Requirement(key, operator, frozenset(listed))


def _check_numbers(values: tuple[str, ...]) -> Iterator[field.FieldError]:
    if len(values) != 1:
        yield field.invalid(
            "values", list(values), "for 'Gt', 'Lt' operators, exactly one value is required"
        )
    for index, value in enumerate(values):
        if not _is_integer(value):
            yield field.invalid(
                f"values[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer"
            )


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", text, re.ASCII) is not None
