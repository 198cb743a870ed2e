"""Address ranges."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.ip import Address, describe_problem, is_address, parse_address
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.meta.field import quote

DECLARATIONS = """
cidr string_to_cidr (string) CIDR
isCIDR is_cidr (string) bool
string cidr_to_string (CIDR) string
containsIP cidr_contains_ip_ip CIDR.(IP) bool
containsIP cidr_contains_ip_string CIDR.(string) bool
containsCIDR cidr_contains_cidr CIDR.(CIDR) bool
containsCIDR cidr_contains_cidr_string CIDR.(string) bool
ip cidr_ip CIDR.() IP
prefixLength cidr_prefix_length CIDR.() int
masked cidr_masked CIDR.() CIDR
"""


class Cidr:
    """An address and the length of its network's prefix; host bits are kept."""

    __slots__ = ("address", "length")
    cel_type: ClassVar[types.Type] = types.CIDR

    def __init__(self, address: Address, length: int) -> None:
        self.address = address
        self.length = length

    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The network, host bits cleared."""
        return ipaddress.ip_network((self.address.raw, self.length), strict=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Cidr)
            and self.address == other.address
            and self.length == other.length
        )

    def __hash__(self) -> int:
        return hash((self.address, self.length))

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    def __len__(self) -> int:
        return -(-self.length // 8)


def parse_cidr(text: str) -> Cidr:
    """Parse a CIDR range.

    Raises:
        EvaluationError: when it is not a range.
    """
    address, slash, length = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    if "%" in address:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    try:
        raw = ipaddress.ip_address(address)
    except ValueError:
        raise _prefix_error(text, describe_problem(address)) from None
    if not re.fullmatch(r"0|[1-9][0-9]{0,2}", length):
        raise _prefix_error(text, f"bad bits after slash: {quote(length)}")
    if int(length) > raw.max_prefixlen:
        raise _prefix_error(text, "prefix length out of range")
    if isinstance(raw, ipaddress.IPv6Address) and raw.ipv4_mapped is not None:
        raise EvaluationError(f"{_PROBLEM}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Cidr(Address(raw), int(length))


_PROBLEM = "network address parse error during conversion from string: "


def _prefix_error(text: str, problem: str) -> EvaluationError:
    return EvaluationError(f"{_PROBLEM}{_PROBLEM}netip.ParsePrefix({quote(text)}): {problem}")


def _is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_ip(cidr: Cidr, other: Any) -> bool:
    if type(other) is str and is_address(other):
        other = parse_address(other)
    if not isinstance(other, Address):  # as Kubernetes does for a text that is not an address
        raise no_overload_error()
    return other.raw in cidr.network()


def _contains_cidr(cidr: Cidr, other: Any) -> bool:
    if type(other) is str:
        other = parse_cidr(other)
    if not isinstance(other, Cidr):
        raise no_overload_error()
    return other.length >= cidr.length and other.address.raw in cidr.network()


def _mask(cidr: Cidr) -> Cidr:
    return Cidr(Address(cidr.network().network_address), cidr.length)


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "cidr": {str: parse_cidr},
    "isCIDR": {str: _is_cidr},
    "string": {Cidr: str},
    "containsIP": {Cidr: _contains_ip},
    "containsCIDR": {Cidr: _contains_cidr},
    "ip": {Cidr: lambda cidr: cidr.address},
    "prefixLength": {Cidr: lambda cidr: cidr.length},
    "masked": {Cidr: _mask},
}
