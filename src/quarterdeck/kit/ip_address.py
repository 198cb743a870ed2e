"""IP addresses as text."""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_address(text: str) -> Address | None:
    """Parse an IP address; None for any other text."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
