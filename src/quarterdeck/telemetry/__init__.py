"""What a telemetry pipeline is made of: matchers, Alloy and OpenTelemetry syntax, merging.

Pure knowledge, shared by the pipelines operator (which validates before it sends) and the fleet
server (which matches and merges). Start at `matchers`.
"""
