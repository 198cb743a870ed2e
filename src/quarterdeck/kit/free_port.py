"""A free port, for programs that cannot be asked which one they chose."""

import socket


def find_free_port() -> int:
    """A loopback port that is free now; another process may still take it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
