"""The operators: each drives a few kinds to what their specs say. Independent of each other.

Every operator has the same shape: its face `register(manager, …)`, one module per kind with the
steps, `plan` (pure), `conditions`. Start at `applications`, the smallest.
"""
