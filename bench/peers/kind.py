"""The names of the custom resource; imports nothing, since operators under measurement do this."""

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "widgets"
BONUS = "bonus"
"""The ConfigMap that all objects of a namespace share, where fan-out is measured."""
