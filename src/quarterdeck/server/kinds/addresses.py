"""IP addresses and host names in the objects of built-in kinds."""

import ipaddress
import socket
from collections.abc import Iterator

from quarterdeck.kit.ip_address import Address, parse_address
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, required
from quarterdeck.meta.release import has_feature

VALID_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def find_family(text: str) -> str:
    """Find the family of an address, IPv4 or IPv6; empty if it is not an address."""
    for name, family in (("IPv4", socket.AF_INET), ("IPv6", socket.AF_INET6)):
        try:
            socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
        return name
    return ""


def validate_address(path: str, text: str) -> Iterator[FieldError]:
    """Check an IP address; releases before StrictIPCIDRValidation accept leading zeros."""
    if not has_feature("StrictIPCIDRValidation"):
        if parse_address(text) is None:
            yield invalid(path, text, VALID_ADDRESS)
        return
    plain = names.strip_zeros(text)
    address = parse_address(plain)
    if address is None:
        yield invalid(path, text, VALID_ADDRESS)
    elif plain != text:
        yield invalid(path, text, "must not have leading 0s")
    elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def validate_network(path: str, text: str) -> Iterator[FieldError]:
    """Check a network in CIDR notation, by the strict rules of newer releases."""
    plain = names.strip_zeros(text)
    try:
        network = ipaddress.ip_network(plain, strict=False)
    except ValueError:
        network = None
    if network is None or "/" not in text:
        detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        yield invalid(path, text, detail)
    elif plain != text:
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif ipaddress.ip_address(text.partition("/")[0]) != network.network_address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def validate_endpoint_address(path: str, text: str, *, family: str = "") -> Iterator[FieldError]:
    """Check an address that traffic is sent to; `family` is IPv4, IPv6 or either."""
    if family and has_feature("StrictIPCIDRValidation"):
        problems = [*validate_address(path, text)]
        yield from problems
        if problems:
            return
    address = parse_address(text)
    if address is None or (family and f"IPv{address.version}" != family):
        yield invalid(path, text, f"must be a valid {family} address" if family else VALID_ADDRESS)
    if address is None:
        yield invalid(path, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        text_of_range = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        yield invalid(path, text, text_of_range)
    if _is_link_local_multicast(address):
        text_of_range = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield invalid(path, text, text_of_range)


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address in ipaddress.IPv6Network("ff02::/16")


def validate_domain_name(path: str, text: str) -> Iterator[FieldError]:
    """Check a fully qualified domain name; a dot may end it."""
    if not text:
        yield required(path)
        return
    name = text.removesuffix(".")
    problems = names.check_dns1123_subdomain(name)
    yield from (invalid(path, name, problem) for problem in problems)
    if problems:
        return
    labels = name.split(".")
    if len(labels) < 2:
        yield invalid(path, name, "should be a domain with at least two segments separated by dots")
        return
    for label in labels:
        if label_problems := names.check_dns1123_label(label):
            yield invalid(path, label, ",".join(label_problems))
