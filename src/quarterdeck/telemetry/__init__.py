"""Telemetry pipelines: matchers, Alloy and OpenTelemetry syntax, merging.

Pure functions, shared by the pipelines operator (which validates before it sends) and the fleet
server (which matches and merges). Start at `matchers`.
"""
