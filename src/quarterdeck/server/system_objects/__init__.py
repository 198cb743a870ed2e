"""Objects that a server makes for itself: the way to the API, API services, flow control.

May import the core, the registry and storage; `bootstrap` calls it. Start reading at `objects`.
"""
