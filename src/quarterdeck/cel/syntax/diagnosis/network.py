"""A grammar as a network of states: the form in which ANTLR looks ahead and recovers."""

import enum
from collections.abc import Sequence
from typing import NamedTuple, Union


class Role(enum.Enum):
    """The role of a state in its rule, which decides how an unexpected token is handled."""

    PLAIN = enum.auto()
    BLOCK = enum.auto()
    """Before alternatives, or before the first iteration of a loop."""
    LOOP_BACK = enum.auto()
    """After an iteration of a loop."""
    STOP = enum.auto()


class State:
    """A state of the network, which belongs to one rule."""

    __slots__ = ("edges", "role")

    def __init__(self, role: Role = Role.PLAIN) -> None:
        self.role = role
        self.edges: list[Edge] = []

    def connect(self, target: "State") -> None:
        """Add a transition to a state that needs no token."""
        self.edges.append(Edge(target))


class Edge(NamedTuple):
    """A transition between states: by a token, through a rule, or without a token."""

    target: State
    tokens: frozenset[str] = frozenset()
    rule: str = ""
    """The rule to call; the target is the state after it."""
    precedence: int = 0
    """The precedence with which the rule is called."""
    guard: int = 0
    """The transition is allowed in rules called with at most this precedence."""


class Match(NamedTuple):
    """Matches one token of one of these kinds."""

    state: State
    tokens: frozenset[str]


class Call(NamedTuple):
    """Calls a rule."""

    state: State
    follow: State
    rule: str
    precedence: int


class Choice(NamedTuple):
    """Selects one of several sequences; the last is empty if the choice is optional."""

    state: State
    alternatives: "Sequence[Sequence[Element]]"
    first: frozenset[str] | None
    """Tokens that select the first alternative without lookahead; None if lookahead is needed."""


class Loop(NamedTuple):
    """Repeats a sequence any number of times."""

    state: State
    back: State
    body: "Sequence[Element]"
    first: frozenset[str] | None
    at_least_once: bool


Element = Union[Match, Call, Choice, Loop]  # noqa: UP007 # it names itself


class Rule(NamedTuple):
    """A rule of the grammar: its first state, and the elements to parse."""

    start: State
    body: Sequence[Element]


class Network:
    """The rules of a grammar, by name."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}

    def add(self, name: str, *parts: "Part") -> None:
        """Add a rule that consists of these parts."""
        start, stop = State(), State(Role.STOP)
        body, end = build(parts, start)
        end.connect(stop)
        self.rules[name] = Rule(start, body)


# the parts of rules ------------------------------------------------------------------------------


class Token(NamedTuple):
    """In the grammar: a token of one of these kinds."""

    kinds: frozenset[str]


class Ref(NamedTuple):
    """In the grammar: a reference to a rule."""

    rule: str
    precedence: int = 0


class Guard(NamedTuple):
    """In the grammar: the precedence of the operator that follows."""

    level: int


class Alternatives(NamedTuple):
    """In the grammar: one of several sequences."""

    sequences: "tuple[tuple[Part, ...], ...]"
    first: frozenset[str] | None = None


class Repeat(NamedTuple):
    """In the grammar: a sequence that repeats any number of times."""

    sequence: "tuple[Part, ...]"
    first: frozenset[str] | None = None
    at_least_once: bool = False


Part = Union[Token, Ref, Guard, Alternatives, Repeat]  # noqa: UP007 # it names itself


def build(parts: "Sequence[Part]", start: State) -> tuple[list[Element], State]:
    """Build the states of a sequence after `start`; returns its elements and its last state."""
    elements: list[Element] = []
    for part in parts:
        end = State()
        match part:
            case Token(kinds):
                start.edges.append(Edge(end, kinds))
                elements.append(Match(start, kinds))
            case Ref(rule, precedence):
                start.edges.append(Edge(end, rule=rule, precedence=precedence))
                elements.append(Call(start, end, rule, precedence))
            case Guard(level):
                start.edges.append(Edge(end, guard=level))
            case Alternatives():
                elements.append(_build_choice(part, start, end))
            case Repeat():
                elements.append(_build_loop(part, start, end))
        start = end
    return elements, start


def _build_choice(part: Alternatives, start: State, end: State) -> Choice:
    block = State(Role.BLOCK)
    start.connect(block)
    alternatives = []
    for sequence in part.sequences:
        first = State()
        block.connect(first)
        elements, last = build(sequence, first)
        last.connect(end)
        alternatives.append(elements)
    return Choice(block, alternatives, part.first)


def _build_loop(part: Repeat, start: State, end: State) -> Loop:
    entry, back, first = State(Role.BLOCK), State(Role.LOOP_BACK), State()
    start.connect(entry)
    body, last = build(part.sequence, first)
    last.connect(back)
    entry.connect(first)
    if part.at_least_once:
        back.connect(entry)
        back.connect(end)
    else:
        entry.connect(end)
        back.connect(entry)
    return Loop(entry, back, body, part.first, part.at_least_once)
