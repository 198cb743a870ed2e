"""The C library's allocator, where it is glibc's."""

_M_ARENA_MAX = -8


def limit_arenas(count: int) -> bool:
    """Limit the arenas that all threads of the process share; returns whether that worked.

    Each thread gets an arena of its own otherwise, and what a thread has freed there is lost to
    the others. Call it before threads start.
    """
    import ctypes

    try:
        return bool(ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, count))
    except (OSError, AttributeError):
        return False  # musl, macOS: nothing to limit
