"""What expressions cost: beforehand, by what the schema allows (`estimate`), and as they run.

The numbers are those of cel-go and Kubernetes (`units`): they decide which rules a CRD may carry.
"""
