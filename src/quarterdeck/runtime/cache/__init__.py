"""The local copy of one kind, its indexes, and the events that it sends to handlers.

Start reading at `cache`; `snapshot` is one version of one object, `event` is one change of it.
"""
