"""The state that all check functions share: variables, inferred types and issues."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from quarterdeck.cel.checker.inference import Inference
from quarterdeck.cel.errors import Issue
from quarterdeck.cel.syntax.ast import Expr
from quarterdeck.cel.syntax.stream import locate
from quarterdeck.cel.types import ERROR, Type

CheckFunction = Callable[["Checker", Any], Type]
"""Infers the type of one kind of node."""

FindMessage = Callable[[str], Type | None]
"""Finds a message type by name; None if expressions may not construct values of it."""


class Findings(NamedTuple):
    """The results of a check besides the types."""

    used: set[str]
    """Variables of the environment that the expression reads."""
    patterns: list[str]
    """Constant patterns of `find` and `findAll`, which `Environment.compile` checks later."""


class Checker:
    """Checks one expression."""

    __slots__ = (
        "_by_node_type",
        "_source",
        "findings",
        "inference",
        "issues",
        "messages",
        "newest",
        "scopes",
        "seen",
        "variables",
    )

    def __init__(
        self,
        by_node_type: Mapping[type[Expr], CheckFunction],
        source: str,
        variables: Mapping[str, Type],
        *,
        messages: FindMessage,
        newest: int,
    ) -> None:
        self.variables = variables
        self.newest = newest
        """The newest release whose functions may be called."""
        self.messages = messages
        """Finds the types that the expression may construct as `Name{…}`."""
        self.scopes: list[Mapping[str, Type]] = []
        """The variables of macros, innermost macro last."""
        self.inference = Inference()
        self.findings = Findings(set(), [])
        self.issues: list[Issue] = []
        self.seen: list[Expr] = []
        """Every node, in the order their types were found."""
        self._source = source
        self._by_node_type = by_node_type

    def visit(self, node: Expr) -> Type:
        """Check a node and return its type, which may still have unresolved type parameters."""
        node.type = self._by_node_type[type(node)](self, node)
        self.seen.append(node)
        return node.type

    def resolve(self, node: Expr) -> Type:
        """Check a node and return its type, with the type parameters resolved that are bound."""
        return self.inference.resolve(self.visit(node))

    def report(self, pos: int, message: str) -> Type:
        """Record an issue; returns the error type, so that checking continues."""
        self.issues.append(Issue(*locate(self._source, pos), message))
        return ERROR

    def report_undeclared(self, pos: int, name: str) -> Type:
        """Record an issue about an undeclared name, in cel-go's words."""
        return self.report(pos, f"undeclared reference to '{name}' (in container '')")
