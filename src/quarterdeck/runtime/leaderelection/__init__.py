"""Leader election by a Lease.

Start reading at `state` (the decisions, pure), then `elector` (their I/O).
"""
