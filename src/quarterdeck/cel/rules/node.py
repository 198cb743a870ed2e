"""Compiled rules, arranged as the schema they came from."""

from collections.abc import Mapping

import msgspec

from quarterdeck.cel.program import Program
from quarterdeck.meta.schema import Rule


class CompiledRule(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A rule with its compiled expressions."""

    rule: Rule
    program: Program
    message: Program | None
    field_path: str
    uses_old: bool
    optional_old: bool


class RuleNode(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The rules of a schema node and of the nodes below it."""

    type: str
    rules: tuple[CompiledRule, ...] = ()
    properties: Mapping[str, "RuleNode"] = {}
    additional: "RuleNode | None" = None
    items: "RuleNode | None" = None
    list_keys: tuple[str, ...] | None = None
    """Keys that match items of a list with old items; None if items cannot be matched."""
    all_of: tuple["RuleNode", ...] = ()
    worst: dict[int, tuple[int, int]] = {}
    """Maximum cost of the node's rules, in total and of one rule, by data size; filled lazily."""

    def get_max_costs(self, cap: int) -> tuple[int, int]:
        """The maximum cost of the node's rules, in total and of one rule, on `cap` bytes."""
        worst = self.worst.get(cap)
        if worst is None:
            bounds = [rule.program.get_cost_bound(cap) for rule in self.rules]
            worst = self.worst[cap] = sum(bounds), max(bounds)
        return worst
