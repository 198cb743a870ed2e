"""Kubernetes' expression language, compiled to Python.

CRD rules, admission policies and match conditions are CEL with Kubernetes' types, libraries,
error texts and cost limits. The packages are the stages of an expression, each importing only
those before it: `syntax` (text to tree), `operations` and `library` (what can be called),
`schema` (schema nodes as types), `checker` (types of a tree), `cost`, `interpreter` (what an
expression means), `compiler` (the same, fast), `program` (a compiled expression), `rules` (the
rules of a whole schema). The contract "cel: stages" in pyproject.toml checks that order.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.cel.cost.budget import Budget as Budget
    from quarterdeck.cel.errors import BudgetExceeded as BudgetExceeded
    from quarterdeck.cel.errors import CelError as CelError
    from quarterdeck.cel.errors import CompileError as CompileError
    from quarterdeck.cel.errors import EvaluationError as EvaluationError
    from quarterdeck.cel.errors import Issue as Issue
    from quarterdeck.cel.program import Environment as Environment
    from quarterdeck.cel.program import Program as Program
    from quarterdeck.cel.rules.rule_set import RuleSet as RuleSet
    from quarterdeck.cel.rules.rule_set import compile_rules as compile_rules
    from quarterdeck.cel.types import AUTHORIZER as AUTHORIZER
    from quarterdeck.cel.types import BOOL as BOOL
    from quarterdeck.cel.types import BYTES as BYTES
    from quarterdeck.cel.types import DOUBLE as DOUBLE
    from quarterdeck.cel.types import DURATION as DURATION
    from quarterdeck.cel.types import DYN as DYN
    from quarterdeck.cel.types import INT as INT
    from quarterdeck.cel.types import REQUEST_AUTHORIZER as REQUEST_AUTHORIZER
    from quarterdeck.cel.types import STRING as STRING
    from quarterdeck.cel.types import TIMESTAMP as TIMESTAMP
    from quarterdeck.cel.types import UINT as UINT
    from quarterdeck.cel.types import Type as Type
    from quarterdeck.cel.types import list_of as list_of
    from quarterdeck.cel.types import map_of as map_of
    from quarterdeck.cel.types import optional_of as optional_of
    from quarterdeck.cel.types import struct as struct

_HOMES = {
    "cost.budget": ("Budget",),
    "errors": ("BudgetExceeded", "CelError", "CompileError", "EvaluationError", "Issue"),
    "program": ("Environment", "Program"),
    "rules.rule_set": ("RuleSet", "compile_rules"),
    "types": (
        "AUTHORIZER", "BOOL", "BYTES", "DOUBLE", "DURATION", "DYN", "INT", "REQUEST_AUTHORIZER",
        "STRING", "TIMESTAMP", "Type", "UINT", "list_of", "map_of", "optional_of", "struct",
    ),
}  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
