"""The verbs, one a module: each has `handle(core, call)` and reads top-down.

What several verbs share is in `server.writing`, `server.reading` and `server.answers`.
"""
