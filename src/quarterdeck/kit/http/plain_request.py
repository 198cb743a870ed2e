"""Answers plain HTTP on a TLS port in plain HTTP, as Go's servers do.

The event loop makes the TLS handshake, and has closed the socket when we learn that it failed. A
second descriptor keeps the connection open until then. It costs two system calls per handshake.
"""

import os
import socket
import ssl
from contextlib import suppress
from typing import Final

_ANSWER: Final = (
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
)
_REASON: Final = "HTTP_REQUEST"
"""OpenSSL's name of the error; it knows GET, HEAD, POST and PUT."""


class SecondDescriptor:
    """Keeps a connection open during its TLS handshake; the owner closes it afterwards."""

    __slots__ = ("_number",)

    def __init__(self, connected: socket.socket) -> None:
        try:
            self._number = os.dup(connected.fileno())
        except OSError:
            self._number = -1  # no descriptor is left: the connection counts, not this answer

    def answer_failure(self, error: Exception) -> None:
        """Send the answer if the handshake failed because the client sent plain HTTP."""
        if isinstance(error, ssl.SSLError) and error.reason == _REASON and self._number >= 0:
            with suppress(OSError):
                os.write(self._number, _ANSWER)

    def close(self) -> None:
        """Close the descriptor; the connection ends if the socket is closed too."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1
