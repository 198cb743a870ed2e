"""The expressions of a schema at the time a definition is accepted: do they compile, what do they
cost. The compiler is `cel`'s; the places and the printed form of a rule are Kubernetes'.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node
from quarterdeck.server.custom.expressions import Expressions


def expression_errors(document: Mapping[str, Any], path: str) -> list[FieldError]:
    """What is wrong with the rules of a schema that stands at `path`."""
    return []


def compile_expressions(node: Node) -> Expressions | None:
    """The rules of a schema, ready to be asked; none if it has none."""
    return None
