"""List and watch of one kind: keeps a cache equal to the server.

Start reading at `reflector` (a pure state machine), then `informer` (its I/O) and `factory`.
"""
