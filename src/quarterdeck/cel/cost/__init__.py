"""The cost of expressions: estimated from the schema (`estimate`), and counted at run time.

The numbers are those of cel-go and Kubernetes (`units`): they decide which rules a CRD may carry.
"""
