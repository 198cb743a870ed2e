"""Evaluates MonitorAccessPolicies: who may see what. Pure; the time is passed in.

    policies = PolicySet(compile_policy(...) for each)
    viewer = policies.build_viewer(Principal(username="alice", groups=("developers",)), now)
    access = viewer.decide_cluster("prod-east", {"env": "prod"})
    rows = [row for row in rows if access.get_filter("nodes").allows(Item(name=row.name))]

Imports `apis`, `engine`, `kit`. The stored form of a policy is in `inventory.policy`. Start at
`filters` (which objects pass), then `program` (one compiled policy) and `viewer` (all policies of
one principal, in order). `explanation` describes the decisions of `viewer`; `lint` finds mistakes.
"""
