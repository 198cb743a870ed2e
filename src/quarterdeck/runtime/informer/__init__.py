"""List and watch of one kind: keeps a cache equal to the server.

Start reading at `reflector` (a pure state machine), then `informer` (its I/O) and `factory`.

Rules that make it safe, cited by number where they are kept, also in `runtime.cache`:

- R1: versions never go back. A state older than the one handlers have seen is dropped; if versions
  of a stream go back, the server has lost history.
- R2: a full list is complete. What is not listed does not exist, and readers see the whole new
  state before a handler is called.
- R3: a line that cannot be decoded ends the stream, never the process.
- R4: after a Retry-After header the next request is sent no earlier than it says.
- R5: after a 401 the request is sent once more at once, because the client renews its credentials.
- R6: a bookmark is a version up to which everything has been applied.
- R7: a stream without data for too long is closed and opened again, because a lost connection can
  look open.
- R8: if the server refuses a version as expired or too large, the newest state is listed at once;
  if that fails too, it is listed again with backoff.
"""
