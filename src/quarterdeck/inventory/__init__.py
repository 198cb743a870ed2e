"""What is known about a cluster: facts from raw objects, and how healthy they make it.

Pure: no client, no clock. Start at `forms` (what is decoded of each object), then `nodes`,
`cluster`, `operators`, `cluster_operators` and `resources` (the facts, in the shapes that readers
of the store know), and `health` (the verdict). Imports `kit` and `apis` only.
"""
