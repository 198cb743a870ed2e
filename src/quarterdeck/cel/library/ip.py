"""IP addresses as Go's `netip` reads them: no zones, no leading zeros, no mapped IPv4."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.meta.field import quote

DECLARATIONS = """
ip string_to_ip (string) IP
isIP is_ip (string) bool
ip.isCanonical ip_is_canonical (string) bool
string ip_to_string (IP) string
family ip_family IP.() int
isUnspecified ip_is_unspecified IP.() bool
isLoopback ip_is_loopback IP.() bool
isLinkLocalMulticast ip_is_link_local_multicast IP.() bool
isLinkLocalUnicast ip_is_link_local_unicast IP.() bool
isGlobalUnicast ip_is_global_unicast IP.() bool
"""

Raw = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address:
    """An IP address."""

    __slots__ = ("raw",)
    cel_type: ClassVar[types.Type] = types.IP

    def __init__(self, raw: Raw) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __str__(self) -> str:
        return str(self.raw)

    def __len__(self) -> int:
        return len(self.raw.packed)


def parse_address(text: str) -> Address:
    """Parse an IP address.

    Raises:
        EvaluationError: when Kubernetes would not accept it.
    """
    try:
        raw = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(
            f"IP Address {quote(text)} parse error during conversion from string: "
            f"{describe_problem(text)}"
        ) from None
    if "%" in text:
        raise EvaluationError(f"IP address {quote(text)} with zone value is not allowed")
    if isinstance(raw, ipaddress.IPv6Address) and raw.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Address(raw)


def describe_problem(text: str) -> str:
    """The error of Go's `ParseAddr`: the exact cause for IPv4, a general one for other texts."""
    problem = "unable to parse IP"
    fields = text.split(".")
    if len(fields) > 1 and all(re.fullmatch(r"[0-9]+", field) for field in fields):
        if any(len(field) > 1 and field[0] == "0" for field in fields):
            problem = "IPv4 field has octet with leading zero"
        elif any(int(field) > 255 for field in fields):
            problem = "IPv4 field has value >255"
        else:
            problem = f"IPv4 address too {'short' if len(fields) < 4 else 'long'}"
    return f"ParseAddr({quote(text)}): {problem}"


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        parse_address(text)
    except EvaluationError:
        return False
    return True


def _is_global_unicast(address: Address) -> bool:
    raw = address.raw
    return not (
        raw.is_unspecified
        or raw.is_loopback
        or raw.is_multicast
        or raw.is_link_local
        or raw == ipaddress.IPv4Address("255.255.255.255")
    )


def _is_link_local_multicast(address: Address) -> bool:
    raw = address.raw
    if isinstance(raw, ipaddress.IPv4Address):
        return raw in ipaddress.IPv4Network("224.0.0.0/24")
    return raw.packed[0] == 0xFF and raw.packed[1] & 0x0F == 0x02


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "ip": {str: parse_address},
    "isIP": {str: is_address},
    "ip.isCanonical": {str: lambda text: str(parse_address(text)) == text},
    "string": {Address: str},
    "family": {Address: lambda address: address.raw.version},
    "isUnspecified": {Address: lambda address: address.raw.is_unspecified},
    "isLoopback": {Address: lambda address: address.raw.is_loopback},
    "isLinkLocalMulticast": {Address: _is_link_local_multicast},
    "isLinkLocalUnicast": {Address: lambda address: address.raw.is_link_local},
    "isGlobalUnicast": {Address: _is_global_unicast},
}
