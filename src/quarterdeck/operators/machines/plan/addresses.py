"""Static addresses of a pool, each given to one machine only. Pure."""

import ipaddress
from collections.abc import Iterator

from quarterdeck.apis.hypervisor.shape import StaticNetwork

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class InvalidPool(ValueError):
    """Raised when an entry of a pool is neither an address nor a range."""


def choose_address(static: StaticNetwork, taken: frozenset[str]) -> str:
    """The first free address, with prefix length; empty if there is none.

    Raises:
        InvalidPool: naming the entry that cannot be read.
    """
    used = {address.partition("/")[0] for address in taken}
    for address in list_addresses(static):
        if address.partition("/")[0] not in used:
            return address
    return ""


def check_pool(static: StaticNetwork) -> None:
    """Check every entry without expanding ranges.

    Raises:
        InvalidPool: naming the entry that cannot be read.
    """
    for entry in _list_entries(static):
        _read(entry)


def list_addresses(static: StaticNetwork) -> Iterator[str]:
    """Every address of a pool, in order; the single address if there is no pool."""
    for entry in _list_entries(static):
        low, high, bits = _read(entry)
        for number in range(int(low), int(high) + 1):
            yield f"{type(low)(number)}/{bits}"


def _list_entries(static: StaticNetwork) -> tuple[str, ...]:
    return static.pool or ((static.ip,) if static.ip else ())


def _read(entry: str) -> tuple[Address, Address, str]:
    try:
        return _parse(entry.replace(" ", ""))
    except ValueError as error:
        raise InvalidPool(f"network.staticConfig.pool: {entry!r}: {error}") from error


def _parse(entry: str) -> tuple[Address, Address, str]:
    addresses, _, bits = entry.partition("/")
    first, _, last = addresses.partition("-")
    if not bits:
        raise ValueError("the prefix length is missing, such as /24")
    low, high = ipaddress.ip_address(first), ipaddress.ip_address(last or first)
    ipaddress.ip_network(f"{low}/{bits}", strict=False)
    if low.version != high.version or int(high) < int(low):
        raise ValueError("the range ends before it begins")
    return low, high, bits
