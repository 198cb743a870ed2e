"""Facts about a cluster, derived from raw objects, and its health.

Pure: no client, no clock. Start at `forms` (what is decoded of each object), then `nodes`,
`cluster`, `operators`, `cluster_operators` and `resources` (the facts, in the shapes that readers
of the store expect), and `health` (the verdict). Imports `kit` and `apis` only.
"""
