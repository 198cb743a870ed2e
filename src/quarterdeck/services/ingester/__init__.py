"""The ingester: collectors on managed clusters push what they read, the hub stores it.

Imports `hubstate`, `inventory`, `kit`. Start at `server` (the gRPC listener), then `session` (one
collector's stream), `ingest` (from a batch to the store; pure parts in `hubstate.push`).
gRPC is imported by `server` alone, and only when it starts.
"""
