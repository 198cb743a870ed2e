"""Extracts columns from objects: each step of each path for a whole batch at a time.

Paths with a common beginning share its steps, so `.status.phase` and `.status.podIP` look up
`status` once. A step first tries the fastest code, which requires that all objects have the member.
If an object does not fit, it switches to slower code that checks more, and stays with it.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, TypeAlias

from quarterdeck.engine.paths import Every, Index, Key, Length, NoMatch, Path, Step, Test, Where
from quarterdeck.engine.values import MISSING

Column: TypeAlias = list[Any]
Objects: TypeAlias = Sequence[Mapping[str, Any]]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


class _Node:
    """A step below another one."""

    __slots__ = ("care", "find", "parent", "step")

    def __init__(self, parent: int, step: Step) -> None:
        self.parent = parent
        self.step = step
        self.care = 0
        """How much is checked. 0: nothing; 1: absent members; 2: absent members and other types."""
        self.find = _compile_find(step.tests if isinstance(step, Where) else ())


class _End:
    """Where a path ends: a node, and what follows if that is `[*]`."""

    __slots__ = ("at", "below", "rest")

    def __init__(self, at: int, rest: Path) -> None:
        self.at = at
        self.rest = rest
        self.below: Extractor | None = None
        """Takes the rest of the path from elements, unless there is none or another `[*]`."""
        if len(rest) > 1 and not any(isinstance(step, Every) for step in rest[1:]):
            self.below = Extractor([rest[1:]])


class Extractor:
    """Takes the raw values of some paths from batches of objects."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._nodes: list[_Node] = []
        self._children: dict[tuple[int, Step], int] = {}
        self._ends = [self._add(path) for path in paths]

    def _add(self, path: Path) -> _End:
        at = -1
        for position, step in enumerate(path):
            if isinstance(step, Every):
                return _End(at, path[position:])
            known = self._children.get((at, step))
            if known is None:
                known = self._children[at, step] = len(self._nodes)
                self._nodes.append(_Node(at, step))
            at = known
        return _End(at, ())

    def extract(self, objects: Objects) -> list[Column]:
        """One column per path; what is not there is MISSING, what a `[*]` finds is a list."""
        columns: list[Column] = []
        base = list(objects)
        for node in self._nodes:
            parent = columns[node.parent] if node.parent >= 0 else base
            columns.append(_take(parent, node))
        found = []
        for end in self._ends:
            column = columns[end.at] if end.at >= 0 else base
            found.append(_spread(column, end) if end.rest else column)
        return found


def _take(parent: Column, node: _Node) -> Column:
    match node.step:
        case Key(name=name):
            return _extract_member(parent, name, node)
        case Length():
            return [_get_length_or_member(value) for value in parent]
        case Index(at=at):
            return _extract_element(parent, at)
        case Where():
            return [node.find(value) if type(value) is list else MISSING for value in parent]
        case Every() | NoMatch():
            return [MISSING] * len(parent)


def _extract_member(parent: Column, name: str, node: _Node) -> Column:
    if node.care == 0:
        try:
            return list(map(itemgetter(name), parent))
        except (KeyError, TypeError):
            node.care = 1
    if node.care == 1:
        try:
            return list(map(dict.get, parent, repeat(name), repeat(MISSING)))
        except TypeError:
            node.care = 2
    return [value.get(name, MISSING) if type(value) is dict else MISSING for value in parent]


def _get_length_or_member(value: Any) -> Any:
    if type(value) is list:
        return len(value)
    return value.get("length", MISSING) if type(value) is dict else MISSING


def _extract_element(parent: Column, at: int) -> Column:
    if set(map(type, parent)) == {list}:
        try:
            return list(map(itemgetter(at), parent))
        except IndexError:
            pass
    least = at + 1 if at >= 0 else -at
    return [
        value[at] if type(value) is list and len(value) >= least else MISSING for value in parent
    ]


def _compile_find(tests: tuple[Test, ...]) -> Callable[[list[Any]], Any]:
    """A function that finds the first element that fits; short for `@.key=="text"`."""
    match tests:
        case (Test(path=(Key(name=name),), operator="==", value=str(wanted)),):
            return lambda elements: _find_text(elements, name, wanted)
        case _:
            return lambda elements: _find(elements, tests)


def _find_text(elements: list[Any], name: str, wanted: str) -> Any:
    for element in elements:
        if type(element) is dict and element.get(name) == wanted:
            return element
    return MISSING


def _find(elements: list[Any], tests: tuple[Test, ...]) -> Any:
    for element in elements:
        if all(_meets(element, test) for test in tests):
            return element
    return MISSING


def _meets(element: Any, test: Test) -> bool:
    value = walk(element, test.path)
    if not test.operator:
        return value is not MISSING
    if test.operator == "==":
        return _are_same(value, test.value)
    if test.operator == "!=":
        return not _are_same(value, test.value)
    is_text = isinstance(value, str) and isinstance(test.value, str)
    is_number = isinstance(test.value, float) and isinstance(value, int | float)
    if not is_text and (not is_number or isinstance(value, bool)):
        return False
    return _COMPARE[test.operator](value, test.value)


def _are_same(value: Any, wanted: Any) -> bool:
    """Equality that keeps booleans and numbers apart; absent is null."""
    if value is MISSING:
        value = None
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def walk(value: Any, path: Path) -> Any:
    """What a path finds in one value; MISSING if it leads nowhere."""
    for position, step in enumerate(path):
        match step:
            case Length():
                value = _get_length_or_member(value)
            case Key(name=name):
                value = value.get(name, MISSING) if type(value) is dict else MISSING
            case Index(at=at):
                value = _extract_element([value], at)[0]
            case Where(tests=tests):
                value = _find(value, tests) if type(value) is list else MISSING
            case Every():
                return _gather(value, path[position + 1 :])
            case NoMatch():
                return MISSING
    return value


def _gather(value: Any, rest: Path) -> Any:
    """The list of what the rest of a path finds in each element; nulls are left out."""
    if type(value) is not list:
        return MISSING
    found: list[Any] = []
    for element in value:
        part = walk(element, rest)
        if any(isinstance(step, Every) for step in rest):
            found.extend(part if type(part) is list else ())
        elif part is not MISSING and part is not None:
            found.append(part)
    return found


def _spread(parent: Column, end: _End) -> Column:
    """`[*]` over a batch: elements of all objects in one column, then back to their objects."""
    if len(end.rest) > 1 and end.below is None:
        return [walk(value, end.rest) for value in parent]
    owners: list[int] = []
    elements: Column = []
    for index, value in enumerate(parent):
        if type(value) is list:
            elements.extend(value)
            owners.extend(repeat(index, len(value)))
    if end.below is not None:
        elements = end.below.extract(elements)[0]
    found: Column = [[] if type(value) is list else MISSING for value in parent]
    for index, element in zip(owners, elements, strict=True):
        if element is not MISSING and element is not None:
            found[index].append(element)
    return found
