"""Compiled rules, arranged as the schema they came from."""

from collections.abc import Mapping

import msgspec

from quarterdeck.cel.program import Program
from quarterdeck.meta.schema import Rule


class CompiledRule(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A rule that may run."""

    rule: Rule
    program: Program
    message: Program | None
    field_path: str
    uses_old: bool
    optional_old: bool


class RuleNode(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The rules at one place of a schema and below it."""

    type: str
    rules: tuple[CompiledRule, ...] = ()
    properties: Mapping[str, "RuleNode"] = {}
    additional: "RuleNode | None" = None
    items: "RuleNode | None" = None
    list_keys: tuple[str, ...] | None = None
    """Keys that correlate items of a list with old ones; None where nothing does."""
    all_of: tuple["RuleNode", ...] = ()
    worst: dict[int, tuple[int, int]] = {}
    """What the rules here cost at most, together and each, by size of the data; filled lazily."""

    def get_worst(self, cap: int) -> tuple[int, int]:
        """What the rules here cost at most, together and each, on data of `cap` bytes."""
        worst = self.worst.get(cap)
        if worst is None:
            bounds = [rule.program.get_cost_bound(cap) for rule in self.rules]
            worst = self.worst[cap] = sum(bounds), max(bounds)
        return worst
