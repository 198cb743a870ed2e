"""Role-based access control: rules, who holds them, and what a user may grant to others.

Start at `grants` (roles and bindings become permissions of a user), then `rule` (what a rule
allows) and `coverage` (which rules a user does not hold). `policy` has the roles every cluster has.
"""
