"""Splits URLs for a client into the origin to connect to and the target to request."""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_TARGET = re.compile(r"[!-~]*")
_PLAIN = re.compile(r"(https?)://([a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?")
_MAX_PORT = 65535
_PORTS = {"http": 80, "https": 443, "http+unix": 0}


class Origin(NamedTuple):
    """The server of a connection; the pool is keyed by it."""

    scheme: str
    host: str
    port: int
    authority: str
    """The value of the Host header."""

    @property
    def is_secure(self) -> bool:
        """The connection is TLS."""
        return self.scheme == "https"


def split_url(url: str) -> tuple[str, str]:
    """The part of a URL that names the origin, and the request target.

    Raises:
        ValueError: the URL is not absolute, or its target has characters that must be escaped.
    """
    start = url.find("://")
    if start < 0:
        raise ValueError(f"{url!r} is not an absolute URL; it must begin with http:// or https://")
    end = start + 3
    length = len(url)
    slash = url.find("/", end)
    question = url.find("?", end, slash if slash >= 0 else length)
    if question >= 0:
        origin, target = url[:question], "/" + url[question:]
    elif slash >= 0:
        origin, target = url[:slash], url[slash:]
    else:
        origin, target = url.partition("#")[0], "/"
    if "#" in target:
        target = target.partition("#")[0]
    if _TARGET.fullmatch(target) is None:
        raise ValueError(f"the path of {url!r} has characters that must be percent-escaped")
    return origin, target


def parse_origin(text: str) -> Origin:
    """Scheme, host and port of the first part of a URL.

    Raises:
        ValueError: the scheme is unknown, the host is missing, or the port is invalid.
    """
    if (plain := _PLAIN.fullmatch(text)) is not None and int(plain[3] or 0) <= _MAX_PORT:
        return _build_origin(plain[1], plain[2], int(plain[3] or 0))
    from urllib.parse import unquote, urlsplit  # most servers have plain names

    parts = urlsplit(text)
    if parts.scheme not in _PORTS:
        raise ValueError(f"{text!r}: the scheme must be http, https or http+unix")
    if parts.username is not None:
        raise ValueError("a URL must not contain credentials; send an Authorization header")
    if parts.scheme == "http+unix":
        return Origin("http+unix", unquote(parts.netloc), 0, "localhost")
    host = parts.hostname
    if not host:
        raise ValueError(f"{text!r} has no host")
    if parts.port == 0:
        raise ValueError(f"{text!r}: the port must be at least 1, got 0")
    return _build_origin(parts.scheme, host, parts.port or 0)


def split_server_url(url: str) -> "SplitResult":
    """The parts of a URL that a user wrote, whose host and port can be connected to.

    Raises:
        ValueError: the host is missing or cannot be a name, or the port is invalid.
    """
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if not (parts.hostname or "").encode("idna"):
        raise ValueError("a URL must have a host")
    if parts.port == 0:
        raise ValueError("the port must be at least 1, got 0")
    return parts


def _build_origin(scheme: str, host: str, port: int) -> Origin:
    default = _PORTS[scheme]
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port in (0, default) else f"{shown}:{port}"
    return Origin(scheme, host, port or default, authority)
