"""The rules of a whole schema: compiled when a CRD is written, run on every object.

Start at `rule_set`; `compilation` compiles the rules of one schema node, `evaluation` runs them.
"""
