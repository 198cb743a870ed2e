"""Network services that people and agents call. Independent of each other and of the operators.

May import everything below: `runtime`, `server`, `client`, `wire`, `kit`. Start at
`applications`, the smallest.
"""
