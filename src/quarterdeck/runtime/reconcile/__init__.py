"""One reconcile: its context, client, status, result, finalizers and journal.

Start reading at `context`, which a reconciler receives, and `result`, which it returns.
"""
