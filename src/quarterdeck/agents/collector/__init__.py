"""The collector: runs on a managed cluster, reads it as the hub would, and pushes to the hub.

Imports `hubstate` (the readers), `engine`, `inventory`, `client`, `kit`. Start at `agent` (the
loops), then `reader` (one cycle), `buffer` (cycles on disk until they are acknowledged) and
`uplink` (the gRPC stream; the only module that imports gRPC).
"""
