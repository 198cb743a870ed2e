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


def validate_expressions(document: Mapping[str, Any], path: str) -> list[FieldError]:
    """Find what is wrong with the rules of a structural schema at `path`, or by them."""
    node = from_openapi(document)
    if not has_rules(node):
        return []
    from quarterdeck.cel import compile_rules

    found = compile_rules(node, path=path)
    return found if isinstance(found, list) else list(validate_defaults(node, path))


def compile_expressions(node: Node) -> Expressions | None:
    """The rules of a schema, ready to be asked; none if it has none."""
    return LazyExpressions(node) if has_rules(node) else None


class LazyExpressions:
    """Rules that are compiled when the first object asks for them: a start compiles none.

    A stored definition whose rules do not compile any more is served without them: its objects
    were accepted under rules that are not there to be asked.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def validate(self, obj: object, old_obj: object = None) -> list[FieldError]:
        """Evaluate the rules on a whole object; `old_obj` is None on create."""
        rules = self._rules
        return [] if rules is None else rules.validate(obj, old_obj)

    def validate_quickly(self, obj: object, old_obj: object = None) -> list[FieldError] | None:
        """Do the same if it takes a few milliseconds at worst, else return None."""
        rules = self._rules
        return [] if rules is None else rules.validate_quickly(obj, old_obj)

    @functools.cached_property
    def _rules(self) -> Expressions | None:
        from quarterdeck.cel import compile_rules

        found = compile_rules(self._node)
        return None if isinstance(found, list) else found


def has_rules(node: Node) -> bool:
    """Whether a schema has rules anywhere."""
    return bool(
        node.rules
        or any(has_rules(child) for child in node.properties.values())
        or (isinstance(node.additional, Node) and has_rules(node.additional))
        or (node.items is not None and has_rules(node.items))
        or any(has_rules(part) for part in node.all_of)
    )
