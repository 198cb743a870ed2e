"""Rules whose cost does not depend on the object: they run without measuring its size.

Most rules compare a few members. If all rules of a schema do, and none is below a list or a map,
their paths and their maximum costs are the same for every object.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT
from quarterdeck.cel.program import Program
from quarterdeck.cel.rules.evaluation import find_type_mismatch
from quarterdeck.cel.rules.node import RuleNode

_LARGEST: Final = 1 << 30
"""A size in bytes that no object exceeds."""


class FixedRules(NamedTuple):
    """The rules of one schema node, whose path consists of property names only."""

    path: tuple[str, ...]
    type: str
    programs: tuple[Program, ...]


def find_fixed_rules(root: RuleNode, budget: int) -> tuple[FixedRules, ...] | None:
    """The rules for new objects; None if their cost depends on the object or is too high."""
    nodes = list(_list_nodes(root, ()))
    if any(_depends_on_object(node) for _, node in nodes):
        return None
    worst = [node.get_max_costs(_LARGEST) for _, node in nodes if node.rules]
    if sum(total for total, _ in worst) > budget:
        return None
    if any(highest > PER_CALL_LIMIT for _, highest in worst):
        return None
    return tuple(
        FixedRules(
            path,
            node.type,
            tuple(rule.program for rule in node.rules if not rule.uses_old),
        )
        for path, node in nodes
        if node.rules
    )


def _list_nodes(
    node: RuleNode, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], RuleNode]]:
    yield path, node
    for name, inner in node.properties.items():
        yield from _list_nodes(inner, (*path, name))


def _depends_on_object(node: RuleNode) -> bool:
    return (
        bool(node.all_of)
        or node.additional is not None
        or node.items is not None
        or any(rule.optional_old for rule in node.rules)
    )


def are_fixed_rules_satisfied(fixed: tuple[FixedRules, ...], value: Any) -> bool:
    """Whether a new object satisfies all rules; False also if that could not be decided."""
    for path, declared, programs in fixed:
        part = value
        for name in path:
            part = part.get(name) if type(part) is dict else None
        if part is None:
            continue
        if find_type_mismatch(declared, part):
            return False
        try:
            for program in programs:
                if program.by_position(part, None) is not True:
                    return False
        except Exception:  # whatever it is, the interpreter explains it
            return False
    return True
