"""Checks all ports before a program starts, so that one error names every conflict."""

import errno
import os
import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quarterdeck.app.errors import StartError
from quarterdeck.kit import http

HOST = "127.0.0.1"
DRAIN_S = 5.0
"""Time limit in seconds for running requests when a server stops."""
_ALL_INTERFACES = frozenset({"", "0.0.0.0", "::"})


class ListenPort(NamedTuple):
    """A port to bind, and the flag that sets it."""

    number: int
    flag: str
    host: str = HOST

    def clashes_with(self, other: "ListenPort") -> bool:
        """Whether both cannot be bound at once; 0 takes any free port."""
        is_shared = self.host == other.host or bool({self.host, other.host} & _ALL_INTERFACES)
        return self.number != 0 and self.number == other.number and is_shared


def check_ports(ports: Iterable[ListenPort]) -> None:
    """Check that all ports can be bound together.

    Raises:
        StartError: naming every port that is given twice or is in use, and its flag.
    """
    accepted: list[ListenPort] = []
    used: list[ListenPort] = []
    problems: list[str] = []
    for port in ports:
        clash = next((each for each in accepted if port.clashes_with(each)), None)
        if clash is not None:
            problems.append(
                f"port {port.number} is given twice, by {clash.flag} and {port.flag}; "
                f"choose another port with {port.flag} (0 for any free port)"
            )
            continue
        accepted.append(port)
        try:
            _bind(port.number, port.host)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                used.append(port)
            else:
                problems.append(str(build_port_error(error, port.number, port.flag)))
    if used:
        problems.insert(0, _describe_used_ports(used))
    if problems:
        raise StartError("; ".join(problems))


def _describe_used_ports(ports: Sequence[ListenPort]) -> str:
    if len(ports) == 1:
        error = OSError(errno.EADDRINUSE, "")
        return str(build_port_error(error, ports[0].number, ports[0].flag))
    names = ", ".join(f"{port.number} ({port.flag})" for port in ports)
    return (
        f"cannot bind ports {names}: addresses already in use; stop the program that uses them, "
        "or choose other ports with these flags (0 for any free port)"
    )


async def listen(
    server: http.Server,
    port: int,
    flag: str,
    *,
    tls: ssl.SSLContext | None = None,
    host: str = HOST,
) -> http.Listener:
    """Listen on a port.

    Raises:
        StartError: naming the flag.
    """
    try:
        return await server.listen(host, port, tls=tls)
    except OSError as error:
        raise build_port_error(error, port, flag) from error


def check_port(port: int, flag: str, *, host: str = HOST) -> None:
    """Check that a port can be bound, before anything is created.

    Raises:
        StartError: naming the cause and the flag.
    """
    try:
        _bind(port, host)
    except OSError as error:
        raise build_port_error(error, port, flag) from error


def _bind(port: int, host: str) -> None:
    """Bind a port and release it again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


def build_port_error(error: OSError, port: int, flag: str) -> StartError:
    """The error for a port that cannot be bound."""
    fix = ""
    if error.errno == errno.EADDRINUSE:
        fix = f"; choose another port with {flag} (0 for any free port)"
    if error.errno == errno.EACCES:
        fix = f"; choose a port above 1023 with {flag}"
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return StartError(f"cannot bind port {port} ({flag}): {reason}{fix}")
