"""The state that all evaluate functions share: variables, the meter and conversions."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from quarterdeck.cel.cost.meter import Meter
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.cel.schema.conversion import build_converter, needs_conversion
from quarterdeck.cel.syntax.ast import Call, Expr, ListExpr, MapExpr
from quarterdeck.cel.syntax.shapes import is_constant

EvaluateFunction = Callable[["Evaluator", Any], Any]
"""Evaluates one kind of node."""

_COMPOSITE = frozenset({Call, ListExpr, MapExpr})
"""Nodes with child nodes that may be constant: their evaluation is not charged then."""


class Evaluator:
    """Evaluates one expression."""

    __slots__ = ("_by_node_type", "charge", "meter", "scope")

    def __init__(
        self,
        by_node_type: Mapping[type[Expr], EvaluateFunction],
        variables: Mapping[str, Any],
        meter: Meter,
    ) -> None:
        self.scope = dict(variables)
        """The variables, those of macros included."""
        self.meter = meter
        self.charge: Callable[[int], None] = meter.charge
        """Adds the cost of a step to the meter."""
        self._by_node_type = by_node_type

    def visit(self, node: Expr) -> Any:
        """Evaluate a node; scalars are converted, the items of containers are not."""
        kind = type(node)
        function = self._by_node_type[kind]
        if kind in _COMPOSITE and is_constant(node):
            # computed beforehand by any sensible implementation, so not charged for
            return self.evaluate_free(function, node)
        return function(self, node)

    def evaluate_whole(self, node: Expr) -> Any:
        """Evaluate a node to compare, add or pass on: containers are converted with their items."""
        value = self.visit(node)
        return build_converter(node.type)(value) if needs_conversion(node.type) else value

    def evaluate_bool(self, node: Expr) -> bool:
        """A value that must be true or false."""
        value = self.visit(node)
        if type(value) is not bool:
            raise no_overload_error()
        return value

    def evaluate_free(self, function: EvaluateFunction, node: Expr) -> Any:
        """Evaluate a node without charging its cost."""
        charge, self.charge = self.charge, _no_charge
        try:
            return function(self, node)
        finally:
            self.charge = charge

    @contextmanager
    def bind_names(self, *names: str) -> Iterator[None]:
        """Restore the previous values of these variables at the end of the block."""
        saved = {name: self.scope[name] for name in names if name in self.scope}
        try:
            yield
        finally:
            for name in names:
                self.scope.pop(name, None)
            self.scope.update(saved)


def _no_charge(amount: int) -> None:
    del amount
