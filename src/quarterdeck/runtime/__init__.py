"""The runtime of operators: watches become reconciles, and reconciles become status.

May import `client`, `wire`, `apis`, `meta`, `kit`. Start reading at `manager`, then follow an
event: `reflector` → `cache` → `predicate` → `enqueue` → `queue` → `controller` → `status`.
What decides is pure and tested on virtual time; what waits is a thin shell around it.
"""
