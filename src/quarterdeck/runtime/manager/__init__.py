"""The manager: all controllers, caches and endpoints of one operator process.

Start reading at `manager`; `program` is the one-call form.
"""
