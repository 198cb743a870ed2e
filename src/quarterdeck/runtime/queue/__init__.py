"""The workqueue: which key is worked on next, when, and by how many workers.

Start reading at `workqueue` (pure, on a clock), then `dispatcher` (lets coroutines wait on it).
"""
