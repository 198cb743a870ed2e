"""Addresses of ingesters, checked before they are dialed. Pure."""

import re

_ADDRESS = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(?::(\d{1,5}))?", re.ASCII)
_MAX_PORT = 65535


def find_address_problem(address: str) -> str:
    """Find what is invalid in an address; empty if gRPC can dial it. The default port is 443."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[1] or 443) <= _MAX_PORT:
        return f"{address!r} is not an address; write HOST:PORT, such as hub.example.com:9443"
    return ""
