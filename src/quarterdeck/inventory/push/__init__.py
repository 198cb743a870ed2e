"""The protocol between collectors and the hub: `clusterpulse.collector.v1`.

`messages` has the types, `descriptors` the table of their fields, `codec` reads and writes their
bytes, `schema` renders `collector.proto` from the table. Imports `inventory`, `kit`. gRPC itself
is in `services/ingester` and `agents/collector`.
"""
