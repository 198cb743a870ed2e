"""Clashes of ports are named together, before anything starts."""

import errno
import socket

import pytest

from quarterdeck.app.errors import StartError
from quarterdeck.app.ports import ListenPort, build_port_error, check_ports


def test_every_clash_is_named_in_one_line() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        first, second = one.getsockname()[1], two.getsockname()[1]
        with pytest.raises(StartError) as caught:
            check_ports([ListenPort(first, "--port"), ListenPort(second, "--health-port")])
    assert str(caught.value) == (
        f"cannot bind ports {first} (--port), {second} (--health-port): addresses already in use; "
        "stop the program that uses them, or choose other ports with these flags "
        "(0 for any free port)"
    )


@pytest.mark.parametrize(
    ("hosts", "is_clash"),
    [
        pytest.param(("127.0.0.1", "127.0.0.1"), True, id="same address"),
        pytest.param(("0.0.0.0", "127.0.0.1"), True, id="all interfaces"),
        pytest.param(("127.0.0.1", "127.0.0.2"), False, id="two addresses"),
    ],
)
def test_one_port_for_two_flags_clashes(hosts: tuple[str, str], is_clash: bool) -> None:
    one, two = (ListenPort(8081, flag, host) for flag, host in zip("ab", hosts, strict=True))
    assert two.clashes_with(one) is is_clash


def test_any_free_port_never_clashes() -> None:
    check_ports([ListenPort(0, "--port"), ListenPort(0, "--health-port")])


def test_a_port_given_twice_names_both_flags() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ports = [ListenPort(port, "--port"), ListenPort(port, "--health-port")]
    with pytest.raises(StartError) as caught:
        check_ports(ports)
    assert str(caught.value) == (
        f"port {port} is given twice, by --port and --health-port; "
        "choose another port with --health-port (0 for any free port)"
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, "permission denied; choose a port above 1023 with --port"),
        (errno.EADDRINUSE,
         "address already in use; choose another port with --port (0 for any free port)"),
        (errno.EADDRNOTAVAIL, "cannot assign requested address"),
    ],
)  # fmt: skip
def test_a_port_that_cannot_be_bound_says_what_to_do(number: int, reason: str) -> None:
    error = build_port_error(OSError(number, "x"), 80, "--port")
    assert str(error) == f"cannot bind port 80 (--port): {reason}"
