"""Records jobs of GitHub Actions, by webhooks or polling, as demand for runner pools.

May import `client`, `apis`, `meta`, `wire`, `kit`. Start at `service` (HTTP), then `events`
(parses deliveries), `matching` (finds the pools of a job) and `record` (stores the jobs).
"""
