"""Schemas at work: what a schema drops, fills in and refuses.

`compile_schema` turns a `meta.schema.Node` into a `CompiledSchema` once; objects then go through
`admit` (prune and default, one walk) and `validate`. `check_structure` judges a schema itself, as
the API server does before it accepts a CustomResourceDefinition.

Read `compiled_schema` first; then `fast` (accepts valid values quickly), `explain` (lists what is
wrong with the others, in Kubernetes' words), `admit`, `duplicates`, and `rules` for the schema's
own rules.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.meta.structural.compiled_schema import Admitted as Admitted
    from quarterdeck.meta.structural.compiled_schema import CompiledSchema as CompiledSchema
    from quarterdeck.meta.structural.compiled_schema import compile_schema as compile_schema
    from quarterdeck.meta.structural.rules import check_structure as check_structure

_HOMES = {
    "compiled_schema": ("Admitted", "CompiledSchema", "compile_schema"),
    "rules": ("check_structure",),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
