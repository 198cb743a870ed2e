"""What hub processes share about collectors: their tokens, their leases, their configuration.

All of it is in the state store, so that any process can answer, whichever one a collector is
connected to.
"""
