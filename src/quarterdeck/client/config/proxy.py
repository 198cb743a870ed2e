"""Finds the proxy in the environment, by the rules of Go programs such as kubectl.

HTTPS_PROXY (or HTTP_PROXY for plain servers, in either case) names the proxy, NO_PROXY the servers
that are reached without it: host names with their subdomains, addresses, networks, optionally with
a port, or `*`. Loopback is never proxied.
"""

from collections.abc import Mapping

from quarterdeck.client.errors import ConfigError
from quarterdeck.kit.digits import parse_digits


def find_proxy(server: str, environment: Mapping[str, str]) -> str:
    """The proxy to reach a server with; empty for none.

    Raises:
        ConfigError: if the environment names one of a kind that is not supported.
    """
    name = f"{server.partition('://')[0].lower()}_proxy"
    proxy = environment.get(name.upper()) or environment.get(name) or ""
    if not proxy:
        return ""
    from urllib.parse import urlsplit  # few programs have a proxy

    parts = urlsplit(server)
    excluded = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if _is_loopback(host) or _is_excluded(host, port, excluded):
        return ""
    return check_proxy(proxy if "://" in proxy else f"http://{proxy}", name.upper())


def check_proxy(proxy: str, origin: str) -> str:
    """The proxy, if it is one we can use; errors name where it was given, not its password.

    Raises:
        ConfigError: for SOCKS proxies, proxies behind TLS, and text that is not a URL.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(proxy)
        is_usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ConfigError(f"{origin}: the proxy must be http://[user:password@]host:port")
    return proxy


def _is_loopback(host: str) -> bool:
    from quarterdeck.kit.ip_address import parse_address

    address = parse_address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_excluded(host: str, port: int, excluded: str) -> bool:
    return any(_matches(host, port, each.strip().lower()) for each in excluded.split(","))


def _matches(host: str, port: int, pattern: str) -> bool:
    if pattern in ("", "*"):
        return pattern == "*"
    name, colon, number = pattern.rpartition(":")
    wanted = parse_digits(number)
    if colon and wanted is not None and (":" not in name or name.startswith("[")):
        if wanted != port:
            return False
        pattern = name.strip("[]")
    import ipaddress

    from quarterdeck.kit.ip_address import parse_address

    address = parse_address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(pattern, strict=False)
        except (ValueError, TypeError):
            return False
    suffix = pattern.removeprefix("*").removeprefix(".")
    is_below = host.lower().endswith(f".{suffix}")
    return is_below or (not pattern.startswith((".", "*.")) and host.lower() == suffix)
