"""Handlers of requests to resources, one verb a module with `handle(core, call)`.

What several verbs share is in `server.write`, `server.read` and `server.response`.
"""
