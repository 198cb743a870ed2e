"""Who may see what: MonitorAccessPolicies compiled and decided. Pure; the time is passed in.

    policies = PolicySet(compile_policy(...) for each)
    viewer = policies.viewer(Principal(username="alice", groups=("developers",)), now)
    access = viewer.decide_cluster("prod-east", {"env": "prod"})
    rows = [row for row in rows if access.filter_of("nodes").passes(Item(name=row.name))]

Imports `apis`, `engine`, `kit`. What a policy becomes in the store is in `inventory.policy`. Start
at `filters` (which objects pass), then `program` (one policy, ready to decide) and `viewer` (all
policies of one person, in order). `explanation` tells in words what `viewer` decides; `lint` finds
mistakes.
"""
