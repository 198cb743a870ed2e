"""Paths that are no resources: discovery, health, version."""
