"""A Fleet Management server: pipelines and collectors over Connect, as Alloy calls it.

`pipeline.v1` and `collector.v1`, JSON and protobuf, GET and POST. Pipelines and registrations are
durable; matching goes through an index; each collector gets one merged configuration with a stable
hash. Start at `service`, then `agent_calls` (what Alloy asks for) and `configs`.
"""
