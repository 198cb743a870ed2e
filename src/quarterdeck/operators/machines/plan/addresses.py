"""Static addresses of a pool: one each, never the same twice. Pure."""

import ipaddress
from collections.abc import Iterator

from quarterdeck.apis.hypervisor.shape import StaticNetwork


class BadPool(ValueError):
    """Raised when an entry of a pool is neither an address nor a range."""


def choose_address(static: StaticNetwork, taken: frozenset[str]) -> str:
    """The first address, with prefix length, that nobody has; empty if there is none.

    Raises:
        BadPool: naming the entry that cannot be read.
    """
    used = {address.partition("/")[0] for address in taken}
    for address in list_addresses(static):
        if address.partition("/")[0] not in used:
            return address
    return ""


def list_addresses(static: StaticNetwork) -> Iterator[str]:
    """Every address of a pool, in order; the single address if there is no pool."""
    for entry in static.pool or ((static.ip,) if static.ip else ()):
        try:
            yield from _expand(entry.replace(" ", ""))
        except ValueError as error:
            raise BadPool(f"network.staticConfig.pool: {entry!r}: {error}") from error


def _expand(entry: str) -> Iterator[str]:
    addresses, _, bits = entry.partition("/")
    first, _, last = addresses.partition("-")
    if not bits:
        raise ValueError("the prefix length is missing, such as /24")
    low, high = ipaddress.ip_address(first), ipaddress.ip_address(last or first)
    ipaddress.ip_network(f"{low}/{bits}", strict=False)
    if low.version != high.version or int(high) < int(low):
        raise ValueError("the range ends before it begins")
    for number in range(int(low), int(high) + 1):
        yield f"{type(low)(number)}/{bits}"
