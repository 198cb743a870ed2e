"""Checks fast whether a new object satisfies all rules, as most objects do.

Errors are not collected: if a rule fails, or could cost too much, `evaluation` runs all rules again
and reports which one failed, where and why.
"""

from typing import Any

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT, round_size_up
from quarterdeck.cel.rules.evaluation import find_type_mismatch
from quarterdeck.cel.rules.node import RuleNode

_FAILED = -1


def are_satisfied(root: RuleNode, value: Any, *, size: int, budget: int) -> bool:
    """Whether a new object satisfies all rules at a cost within the budget.

    `size` is the number of its bytes as JSON. False also if that could not be decided.
    """
    return _spend(root, value, cap=round_size_up(size), left=budget) != _FAILED


def _spend(node: RuleNode, value: Any, *, cap: int, left: int) -> int:
    """The rest of the budget if the rules of a node and below it are satisfied, else `_FAILED`."""
    if node.rules and (left := _run_rules(node, value, cap=cap, left=left)) == _FAILED:
        return _FAILED
    if node.all_of:
        return _FAILED
    if type(value) is dict:
        return _spend_on_members(node, value, cap=cap, left=left)
    if type(value) is list and node.items is not None:
        for item in value:
            if item is not None:
                left = _spend(node.items, item, cap=cap, left=left)
                if left == _FAILED:
                    return _FAILED
    return left


def _spend_on_members(node: RuleNode, value: dict[str, Any], *, cap: int, left: int) -> int:
    if node.additional is not None:
        for child in value.values():
            if child is not None:
                left = _spend(node.additional, child, cap=cap, left=left)
                if left == _FAILED:
                    return _FAILED
    for key, inner in node.properties.items():
        if (child := value.get(key)) is not None:
            left = _spend(inner, child, cap=cap, left=left)
            if left == _FAILED:
                return _FAILED
    return left


def _run_rules(node: RuleNode, value: Any, *, cap: int, left: int) -> int:
    total, highest = node.get_max_costs(cap)
    if total > left or highest > PER_CALL_LIMIT or find_type_mismatch(node.type, value):
        return _FAILED
    for rule in node.rules:
        if rule.optional_old:
            return _FAILED
        if rule.uses_old:
            continue
        try:
            if rule.program.by_position(value, None) is not True:
                return _FAILED
        except Exception:  # whatever it is, the interpreter explains it
            return _FAILED
    return left - total
