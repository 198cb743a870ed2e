"""List and watch of one kind: keeps a cache equal to the server.

Start reading at `reflector` (a pure state machine), then `informer` (its I/O) and `factory`.

Rules that make it safe, cited by number where they are kept, also in `runtime.cache`:

- R1: versions never go back. A state older than the one that handlers know is dropped, and a stream
  that goes back shows that the server lost history.
- R2: a full list is complete. What is not listed does not exist, and readers see the whole new
  state before a handler is called.
- R3: a line that cannot be decoded ends the stream, never the process.
- R4: a server that says how long to wait is not asked earlier.
- R5: after a 401 the request is sent once more at once, because the client renews its credentials.
- R6: a bookmark is a version up to which everything has been applied.
- R7: a stream that is silent for too long is dead, although it looks open.
- R8: where the server refuses a version, the newest state is asked for; refused again, it waits.
"""
