"""Settings of glibc's allocator."""

_M_ARENA_MAX = -8


def limit_arenas(count: int) -> bool:
    """Limit the arenas that all threads of the process share; returns whether that worked.

    Otherwise each thread gets its own arena, and other threads cannot reuse memory that is freed in
    it. Call this before threads start.
    """
    import ctypes

    try:
        return bool(ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, count))
    except (OSError, AttributeError):
        return False  # musl, macOS: nothing to limit
