"""The order of targets: levels by dependency, and what is wrong with dependencies. Pure.

Kahn's algorithm with ties in the order of the spec; no recursion, so that a long chain of targets
cannot exhaust the stack.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quarterdeck.operators.experiments.conditions import Reason


class Edge(NamedTuple):
    """A target and the targets it depends on."""

    name: str
    depends: tuple[str, ...] = ()


class GraphError(NamedTuple):
    """An error in the dependencies of targets."""

    reason: Reason
    target: str
    """The target whose `depends` is wrong."""
    entry: int | None
    """Index in that target's `depends`; None if the error is in the target itself."""
    value: str
    message: str


def group_levels(targets: Sequence[Edge]) -> list[list[str]]:
    """Group targets into levels, each of which depends only on earlier ones.

    Raises:
        ValueError: if `check` finds errors.
    """
    if errors := check(targets):
        raise ValueError("; ".join(error.message for error in errors))
    return _split_levels(targets)[0]


def check(targets: Sequence[Edge]) -> list[GraphError]:
    """Find all errors: duplicate targets, unknown, self and duplicate dependencies, cycles."""
    errors = [*_duplicate_targets(targets), *_find_bad_edges(targets)]
    names = {target.name for target in targets}
    sane = [
        Edge(each.name, tuple(d for d in dict.fromkeys(each.depends) if d in names - {each.name}))
        for each in {target.name: target for target in targets}.values()
    ]
    stuck = _split_levels(sane)[1]
    if stuck:
        cycle = find_cycle(stuck)
        path = " -> ".join((*cycle, cycle[0]))
        message = f"targets depend on each other in a cycle: {path}"
        errors.append(GraphError(Reason.DEPENDENCY_CYCLE, cycle[0], None, path, message))
    return errors


def find_ancestors(targets: Sequence[Edge]) -> dict[str, frozenset[str]]:
    """For each target everything it depends on, directly or not; cycles are tolerated."""
    direct = {target.name: target.depends for target in targets}
    found: dict[str, frozenset[str]] = {}
    for name in direct:
        seen: set[str] = set()
        todo = list(direct[name])
        while todo:
            each = todo.pop()
            if each not in seen and each in direct:
                seen.add(each)
                todo.extend(direct[each])
        found[name] = frozenset(seen)
    return found


def find_cycle(stuck: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Find a cycle among targets left without a level; it starts with the first of the spec."""
    order = list(stuck)
    position = {name: index for index, name in enumerate(order)}
    walk: dict[str, int] = {}
    name = order[0]
    while name not in walk:
        walk[name] = len(walk)
        name = next(each for each in stuck[name] if each in position)
    cycle = list(walk)[walk[name] :]
    start = min(range(len(cycle)), key=lambda index: position[cycle[index]])
    return (*cycle[start:], *cycle[:start])


def _split_levels(targets: Sequence[Edge]) -> tuple[list[list[str]], dict[str, tuple[str, ...]]]:
    """Group targets into levels; also returns targets in or behind cycles, with their `depends`."""
    waiting = {target.name: target.depends for target in targets}
    done: set[str] = set()
    found: list[list[str]] = []
    while waiting:
        level = [name for name, depends in waiting.items() if done.issuperset(depends)]
        if not level:
            break
        found.append(level)
        done.update(level)
        for name in level:
            del waiting[name]
    return found, waiting


def _duplicate_targets(targets: Sequence[Edge]) -> Iterable[GraphError]:
    seen: set[str] = set()
    for target in targets:
        if target.name in seen:
            message = f"target {target.name} is listed twice"
            yield GraphError(Reason.INVALID_SPEC, target.name, None, target.name, message)
        seen.add(target.name)


def _find_bad_edges(targets: Sequence[Edge]) -> Iterable[GraphError]:
    names = {target.name for target in targets}
    for target in targets:
        for index, name in enumerate(target.depends):
            if name == target.name:
                yield GraphError(
                    Reason.DEPENDENCY_CYCLE,
                    target.name,
                    index,
                    name,
                    f"target {name} depends on itself",
                )
            elif name not in names:
                known = ", ".join(sorted(names - {target.name})) or "none"
                yield GraphError(
                    Reason.DEPENDENCY_UNKNOWN,
                    target.name,
                    index,
                    name,
                    f"target {name} not found; other targets: {known}",
                )
            elif name in target.depends[:index]:
                yield GraphError(
                    Reason.INVALID_SPEC, target.name, index, name, f"{name} is listed twice"
                )
