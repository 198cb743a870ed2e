"""A controller: its declaration, the workers that run it, its report and its permissions.

Start reading at `controller` (the declaration), then `runner` (queue and workers) and `attempt`
(one reconcile).
"""
