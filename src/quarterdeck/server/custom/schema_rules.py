"""The expressions of a schema: checked when a definition is written, compiled when it is served.

The compiler is `cel`'s, and is loaded only for schemas that have rules.
"""

import functools
from collections.abc import Container, Iterable, Mapping
from typing import Any

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.server.custom.default_rules import validate_defaults
from quarterdeck.server.custom.expressions import Expressions

_EXPRESSIONS = ("rule", "messageExpression")
_QUICK_RULES = 32
"""At most this many rules are compiled on the event loop; more are compiled in a thread."""


class StoredExpressions:
    """The expressions of a definition before a change; collected on first use."""

    def __init__(self, versions: Iterable[Mapping[str, Any]]) -> None:
        self._versions = versions

    def __contains__(self, text: object) -> bool:
        """Whether the old definition has this expression anywhere."""
        return text in self._texts

    @functools.cached_property
    def _texts(self) -> frozenset[str]:
        found: set[str] = set()
        for version in self._versions:
            _collect((version.get("schema") or {}).get("openAPIV3Schema"), found)
        return frozenset(found)


def _collect(part: Any, found: set[str]) -> None:
    """Add the expressions of a schema, or of any part of it."""
    if isinstance(part, list):
        for each in part:
            _collect(each, found)
    elif isinstance(part, dict):
        for name, each in part.items():
            if name == "x-kubernetes-validations" and isinstance(each, list):
                found |= {rule.get(key) or "" for rule in each for key in _EXPRESSIONS}
            else:
                _collect(each, found)


def validate_expressions(
    document: Mapping[str, Any], path: str, stored: Container[str] = frozenset()
) -> list[FieldError]:
    """Find the errors of the rules of a schema at `path`, else the defaults that violate them.

    Expressions that are not among the `stored` ones are new.
    """
    node = from_openapi(document)
    if not count_rules(node):
        return []
    from quarterdeck.cel import compile_rules

    found = compile_rules(node, path=path, stored=stored)
    return found if isinstance(found, list) else list(validate_defaults(node, path))


def compile_expressions(node: Node) -> Expressions | None:
    """Return the rules of a schema, compiled on first use; None if it has no rules."""
    count = count_rules(node)
    return LazyExpressions(node, count) if count else None


class LazyExpressions:
    """Rules that are compiled on first use, so that a server start compiles none.

    A stored definition whose rules no longer compile is served without them, so that its objects
    stay usable.
    """

    def __init__(self, node: Node, count: int) -> None:
        self._node = node
        self._is_quick = count <= _QUICK_RULES
        """Whether the rules are compiled, or are few enough to compile on the event loop."""

    def validate(self, obj: object, old_obj: object = None) -> list[FieldError]:
        """Evaluate the rules on a whole object; `old_obj` is None on create."""
        rules = self._rules
        return [] if rules is None else rules.validate(obj, old_obj)

    def validate_quickly(self, obj: object, old_obj: object = None) -> list[FieldError] | None:
        """Do the same if it takes a few milliseconds at worst, else return None."""
        if not self._is_quick:
            return None  # `validate` compiles them later, in a thread
        rules = self._rules
        return [] if rules is None else rules.validate_quickly(obj, old_obj)

    @functools.cached_property
    def _rules(self) -> Expressions | None:
        from quarterdeck.cel import compile_rules

        found = compile_rules(self._node)
        self._is_quick = True
        return None if isinstance(found, list) else found


def count_rules(node: Node) -> int:
    """Count the rules of a schema."""
    count = len(node.rules)
    for child in node.properties.values():
        count += count_rules(child)
    if isinstance(node.additional, Node):
        count += count_rules(node.additional)
    if node.items is not None:
        count += count_rules(node.items)
    for part in node.all_of:
        count += count_rules(part)
    return count
