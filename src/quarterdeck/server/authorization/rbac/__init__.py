"""Role-based access control: rules, who holds them, and what a user may grant to others.

Start at `grants` (computes the permissions of a user from roles and bindings), then `coverage`
(finds the rules that a user does not hold) and `escalation`, which uses it. `policy` has the roles
that every cluster has. What one rule allows is in `authorization.policy_rule`.
"""
