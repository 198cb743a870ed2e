"""What every object has: identity, metadata, conditions, a kind in a scheme, a schema.

Start at `identity`, then `schema`: the one node type that CRD schemas and the
table of built-in kinds both become.
"""
