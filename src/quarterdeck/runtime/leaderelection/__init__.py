"""Leader election by a Lease."""
