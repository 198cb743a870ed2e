"""Checks all ports of a program before it starts, so that one line names every clash."""

from collections.abc import Iterable
from typing import NamedTuple

from quarterdeck.app.embedded import HOST, check_port
from quarterdeck.app.errors import StartError

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
            check_port(port.number, port.flag, host=port.host)
        except StartError as error:
            problems.append(str(error))
    if problems:
        raise StartError("; ".join(problems))
