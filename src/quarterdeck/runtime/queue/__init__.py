"""The workqueue: which key is worked on next, when, and by how many workers.

Start reading at `workqueue` (pure, on a clock), then `ready_keys` (the order of keys), then
`dispatcher` (lets coroutines wait on the queue).
"""
