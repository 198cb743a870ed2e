"""Label selectors: `env in (a, b), !canary, tier != db`.

The full grammar with Kubernetes' error texts, matching, and the canonical text, which
`Selector.parse` reads back to an equal selector.
"""

import enum
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from quarterdeck.meta import field, names
from quarterdeck.wire.conjunction import Term, compile_all


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


_SYMBOLS = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}


class Requirement(NamedTuple):
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
        """Select what carries all of these labels."""
        return cls(
            Requirement(key, Operator.EQUALS, frozenset((value,))) for key, value in labels.items()
        )

    @classmethod
    def from_label_selector(cls, selector: Mapping[str, Any] | None) -> "Selector":
        """The selector of a `LabelSelector` object; an absent one selects nothing.

        Raises:
            SelectorError: naming the operator or key that is wrong.
        """
        if selector is None:
            return NOTHING
        equalities = cls.of(selector.get("matchLabels") or {}).requirements
        expressions = [_from_expression(each) for each in selector.get("matchExpressions") or ()]
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
    return Selector(_Parser(text).parse_requirements())


def _to_term(requirement: Requirement) -> Term:
    """A requirement as an expression over a set of labels."""
    key, operator, values = requirement
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


def _from_expression(expression: Mapping[str, Any]) -> Requirement:
    name = expression.get("operator", "")
    operator = _EXPRESSIONS.get(name)
    if operator is None:
        raise SelectorError(f'"{name}" is not a valid label selector operator')
    return _build_requirement(expression.get("key", ""), operator, expression.get("values") or ())


def _build_requirement(key: str, operator: Operator, values: Iterable[str]) -> Requirement:
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


_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SPECIAL = frozenset(("=", "==", "!=", "!", "(", ")", ",", "<", ">"))
END = ""


class _Parser:
    """Recursive descent over the tokens, worded like Kubernetes' own."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), END]
        self._position = 0

    def parse_requirements(self) -> Iterator[Requirement]:
        while True:
            token = self._peek()
            if token == END:
                return
            if token != "!" and not _is_identifier(token):
                _fail(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                yield self._parse_requirement()
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from error
            self._parse_separator()

    def _parse_separator(self) -> None:
        token = self._next()
        if token == END:
            self._position -= 1
            return
        if token != ",":
            _fail(f"found '{token}', expected: ',' or 'end of string'")
        following = self._peek()
        if following != "!" and not _is_identifier(following):
            _fail(f"found '{following}', expected: identifier after ','")

    def _parse_requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if not _is_identifier(key):
            _fail(f"found '{key}', expected: identifier")
        if problems := names.check_qualified_name(key):
            raise SelectorError(str(field.invalid("<nil>", key, "; ".join(problems))))
        if negated:
            return _build_requirement(key, Operator.DOES_NOT_EXIST, ())
        if self._peek() in (END, ","):
            return _build_requirement(key, Operator.EXISTS, ())
        operator = self._parse_operator()
        values = (
            self._parse_values()
            if operator in (Operator.IN, Operator.NOT_IN)
            else self._parse_value()
        )
        return _build_requirement(key, operator, values)

    def _parse_operator(self) -> Operator:
        token = self._next()
        operator = _SYMBOLS.get(token)
        if operator is None:
            _fail(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        return operator

    def _parse_values(self) -> tuple[str, ...]:
        token = self._next()
        if token != "(":
            _fail(f"found '{token}' expected: '('")
        values: dict[str, None] = {}
        token = self._peek()
        if token == ")":
            self._next()
            return ("",)  # an empty list is a list of the empty value, as Kubernetes reads it
        if token != "," and not _is_identifier(token):
            _fail(f"found '{token}', expected: ',', ')' or identifier")
        while True:
            values[self._parse_listed_value()] = None
            token = self._next()
            if token == ")":
                return tuple(values)
            if token != ",":
                _fail(f"found '{token}', expected: ',' or ')'")

    def _parse_listed_value(self) -> str:
        """An empty value is allowed in a list: `in (a,,b)`."""
        token = self._peek()
        if token in (",", ")"):
            return ""
        if not _is_identifier(token):
            _fail(f"found '{token}', expected: ',', or identifier")
        return self._next()

    def _parse_value(self) -> tuple[str, ...]:
        token = self._peek()
        if token in (END, ","):
            return ("",)
        if not _is_identifier(token):
            _fail(f"found '{token}', expected: identifier")
        return (self._next(),)

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        token = self._tokens[self._position]
        if token != END:
            self._position += 1
        else:
            self._position = len(self._tokens)
            self._tokens.append(END)
        return token


def _is_identifier(token: str) -> bool:
    """Keys and values; the words `in` and `notin` are operators only behind a key."""
    return token != END and token not in _SPECIAL


def _fail(message: str) -> NoReturn:
    raise SelectorError(message)


EVERYTHING = Selector()
"""Selects everything."""

NOTHING: Selector = _Nothing()
"""Selects nothing: what an absent selector means in most APIs."""
