"""Simulated outside systems for the demo and for tests: contents of clusters, and a registry."""
