"""Where health and metrics listen: from a bind address or a port to a `Bind`."""

from quarterdeck.app.embedded import HOST
from quarterdeck.app.resolving import SettingError
from quarterdeck.runtime.manager import Bind

_EVERYWHERE = "0.0.0.0"


def bind_of(address: str, port: int, *, flag: str, everywhere: bool = False) -> Bind | None:
    """The address in force; None where it is switched off.

    An address is `HOST:PORT`, `:PORT` for all interfaces, or `0` for off, as controller-runtime
    has it. Without one the port listens on loopback, or on all interfaces if `everywhere`.

    Raises:
        SettingError: if the address is none.
    """
    if not address:
        return Bind(_EVERYWHERE if everywhere else HOST, port)
    if address == "0":
        return None
    host, colon, number = address.rpartition(":")
    if not colon or not number.isdigit() or int(number) > 65535:
        raise SettingError(f"{flag} is {address!r}: it must be HOST:PORT, :PORT, or 0 for off")
    return Bind(host.strip("[]") or _EVERYWHERE, int(number))
