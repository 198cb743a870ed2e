"""Paths that name no resource: discovery, health, version, token issuer, metrics.

Start at `router`.
"""
