"""Alert rules: conditions over the aggregations of one cluster, for each group where they have any.

A name in the expression is an aggregation. Where one has groups, the rule is evaluated for each
group; aggregations without groups have the same value in all of them.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from quarterdeck.apis.clusterpulse.metric_source import AlertRule
from quarterdeck.engine.columns import Columns
from quarterdeck.engine.expressions.compiler import CompiledExpression, Moment
from quarterdeck.engine.results import AggregationValue, Number
from quarterdeck.kit import rfc3339

MAX_GROUPS = 500
"""Groups of one rule that can alert at a time."""


class Finding(NamedTuple):
    """A rule that holds, for one group or for the whole cluster."""

    rule: AlertRule
    group: str
    """Empty if no aggregation of the rule has groups."""
    values: Mapping[str, Number | None]
    """The aggregations that the expression names."""

    def describe(self) -> str:
        """The rule's message, or its expression, with the values."""
        shown = ", ".join(f"{name} = {_format(value)}" for name, value in self.values.items())
        text = self.rule.message or self.rule.expression
        where = f"{self.group}: " if self.group else ""
        return f"{where}{text} ({shown})" if shown else f"{where}{text}"


class CompiledAlert:
    """A valid alert rule."""

    def __init__(self, rule: AlertRule, expression: CompiledExpression) -> None:
        self.rule = rule
        self.names = expression.names
        self._expression = expression

    def evaluate(self, values: Mapping[str, AggregationValue], now: datetime) -> list[Finding]:
        """The groups for which the rule holds; none if the value of an aggregation is missing."""
        if any(name not in values for name in self.names):
            return []
        groups = self._find_groups(values)
        columns = Columns()
        for name in self.names:
            value = values[name]
            columns[name] = (
                [value.get(group) for group in groups]
                if isinstance(value, dict)
                else [value] * len(groups)
            )
        moment = Moment(now.timestamp(), rfc3339.format_time(now))
        held = self._expression.evaluate(columns, len(groups), moment)
        return [
            Finding(self.rule, group, {name: columns[name][index] for name in self.names})
            for index, group in enumerate(groups)
            if held[index]
        ][:MAX_GROUPS]

    def _find_groups(self, values: Mapping[str, AggregationValue]) -> list[str]:
        grouped = [each for name in self.names if isinstance(each := values[name], dict)]
        return sorted({group for each in grouped for group in each}) if grouped else [""]


def _format(value: Number | None) -> str:
    return "null" if value is None else f"{value:.12g}"
