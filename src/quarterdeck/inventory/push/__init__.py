"""What collectors and the hub say to each other: `clusterpulse.collector.v1`.

`messages` has the table of all messages and the types they become, `codec` reads and writes their
bytes, `schema` renders `collector.proto` from the table. Imports `inventory`, `kit`. gRPC itself
is in `services/ingester` and `agents/collector`.
"""
