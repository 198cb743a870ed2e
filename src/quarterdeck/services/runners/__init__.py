"""Hears of jobs: webhooks of GitHub Actions become demand for runner pools.

May import `client`, `apis`, `meta`, `wire`, `kit`. Start at `service` (HTTP), then `events` (what a
delivery means), `matching` (which pools it concerns) and `record` (where jobs are kept).
"""
