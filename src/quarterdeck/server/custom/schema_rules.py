"""The expressions of a schema: checked when a definition is written, compiled when it is served.

The compiler is `cel`'s, and is loaded only for schemas that have rules.
"""

import functools
from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.server.custom.default_rules import validate_defaults
from quarterdeck.server.custom.expressions import Expressions

_QUICK_RULES = 32
"""Rules that are compiled on the event loop; more are compiled in a thread."""


def validate_expressions(document: Mapping[str, Any], path: str) -> list[FieldError]:
    """Find what is wrong with the rules of a structural schema at `path`, or by them."""
    node = from_openapi(document)
    if not count_rules(node):
        return []
    from quarterdeck.cel import compile_rules

    found = compile_rules(node, path=path)
    return found if isinstance(found, list) else list(validate_defaults(node, path))


def compile_expressions(node: Node) -> Expressions | None:
    """The rules of a schema, ready to be asked; none if it has none."""
    count = count_rules(node)
    return LazyExpressions(node, count) if count else None


class LazyExpressions:
    """Rules that are compiled when the first object asks for them: a start compiles none.

    A stored definition whose rules do not compile any more is served without them: its objects
    were accepted under rules that are not there to be asked.
    """

    def __init__(self, node: Node, count: int) -> None:
        self._node = node
        self._is_quick = count <= _QUICK_RULES
        """Whether the rules are compiled, or soon will be."""

    def validate(self, obj: object, old_obj: object = None) -> list[FieldError]:
        """Evaluate the rules on a whole object; `old_obj` is None on create."""
        rules = self._rules
        return [] if rules is None else rules.validate(obj, old_obj)

    def validate_quickly(self, obj: object, old_obj: object = None) -> list[FieldError] | None:
        """Do the same if it takes a few milliseconds at worst, else return None."""
        if not self._is_quick:
            return None  # whoever asks again in a thread compiles them there
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
