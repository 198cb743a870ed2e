"""Schemas at work: what a schema drops, fills in and refuses.

`compile_schema` turns a `meta.schema.Node` into a `Compiled` once; objects then go through
`admit` (prune and default, one walk) and `validate`. `structural_errors` judges a schema itself, as
the API server does before it accepts a CustomResourceDefinition.

Read `compiled` first; then `fast` (the walk that says yes), `explain` (the walk that says why not,
in Kubernetes' words), `admit`, `duplicates`, and `rules` for the schema's own rules.
"""

from quarterdeck.meta.structural.compiled import Admitted, Compiled, compile_schema
from quarterdeck.meta.structural.rules import structural_errors

__all__ = ["Admitted", "Compiled", "compile_schema", "structural_errors"]
