"""Sharding by Leases: replicas share the objects of a controller, and none works on one twice.

Start reading at `rendezvous` (who should hold a shard), then `state` (who may take or must release
it, pure), then `sharder` (the I/O). `ownership` is what controllers see of it.
"""
