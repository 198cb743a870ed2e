"""What all functions that check a node share: variables, inference, and issues."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from quarterdeck.cel.checker.inference import Inference
from quarterdeck.cel.errors import Issue
from quarterdeck.cel.syntax.ast import Expr
from quarterdeck.cel.syntax.stream import locate
from quarterdeck.cel.types import ERROR, Type

CheckFunction = Callable[["Checker", Any], Type]
"""How the type of one kind of node is found."""

FindMessage = Callable[[str], Type | None]
"""The type of that name, if expressions may construct values of it."""


class Findings(NamedTuple):
    """What checking learns of an expression besides its types."""

    used: set[str]
    """Variables from outside that it reads."""
    patterns: list[str]
    """Constant patterns that must still prove to be any good."""


class Checker:
    """The check of one expression."""

    __slots__ = (
        "_by_node_type",
        "_source",
        "findings",
        "inference",
        "issues",
        "messages",
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
    ) -> None:
        self.variables = variables
        self.messages = messages
        """The types that may be written as `Name{…}`."""
        self.scopes: list[Mapping[str, Type]] = []
        """What macros have bound, innermost last."""
        self.inference = Inference()
        self.findings = Findings(set(), [])
        self.issues: list[Issue] = []
        self.seen: list[Expr] = []
        """Every node, in the order their types were found."""
        self._source = source
        self._by_node_type = by_node_type

    def visit(self, node: Expr) -> Type:
        """The type of a node, as far as it is known by now."""
        node.type = self._by_node_type[type(node)](self, node)
        self.seen.append(node)
        return node.type

    def resolve(self, node: Expr) -> Type:
        """The same, with what was learnt since about its parts."""
        return self.inference.resolve(self.visit(node))

    def report(self, pos: int, message: str) -> Type:
        """Note a complaint; the type stands for what has none."""
        self.issues.append(Issue(*locate(self._source, pos), message))
        return ERROR

    def report_undeclared(self, pos: int, name: str) -> Type:
        """Complain about a name nobody knows."""
        return self.report(pos, f"undeclared reference to '{name}' (in container '')")
