"""Controllers that every server runs: garbage collection, namespaces, endpoints, expiry.

`garbage_collector` is the most instructive one.
"""
