"""URLs as Go's `ParseRequestURI` reads them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, unquote

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.meta.field import quote as go_quote

DECLARATIONS = """
url string_to_url (string) URL
isURL is_url_string (string) bool
getScheme url_get_scheme URL.() string
getHost url_get_host URL.() string
getHostname url_get_hostname URL.() string
getPort url_get_port URL.() string
getEscapedPath url_get_escaped_path URL.() string
getQuery url_get_query URL.() map(string, list(string))
"""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.S)
_BAD_HOST_ESCAPE = re.compile(r"%(?!25|[89A-Fa-f][0-9A-Fa-f]).{0,2}", re.S)
_BAD_HOST_CHARACTER = re.compile(r"[\x00-\x20\x7f#/?@\\^`{|}]")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(r"(?::[0-9]*)?")


class UrlError(ValueError):
    """Raised when a text is not a URL, with the message of Go's package net/url."""


class Url:
    """A parsed URL."""

    __slots__ = ("host", "hostname", "path", "port", "query", "scheme", "text")
    cel_type: ClassVar[types.Type] = types.URL

    def __init__(self, text: str) -> None:
        self.text = text
        self.path = self.host = self.hostname = self.port = ""
        before_fragment, _, fragment = text.partition("#")
        self.scheme, rest = _split_scheme(before_fragment)
        rest, _, self.query = rest.partition("?")
        if not rest.startswith("/"):
            if not self.scheme:
                raise UrlError("invalid URI for request")
            return
        if rest.startswith("//") and (self.scheme or not rest.startswith("///")):
            authority, slash, path = rest[2:].partition("/")
            self.host = _parse_authority(authority)
            rest = slash + path
        _check_escapes(rest)
        _check_escapes(fragment)
        self.path = quote(rest, safe="/%:@!$&'()*+,;=~-._[]")
        self.hostname, self.port = _split_port(self.host)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    if (found := _SCHEME.match(text)) is None:
        return "", text
    return found[1].lower(), text[found.end() :]


def _check_escapes(text: str, bad: re.Pattern[str] = _BAD_ESCAPE) -> None:
    if (found := bad.search(text)) is not None:
        raise UrlError(f"invalid URL escape {go_quote(found[0])}")


def _parse_authority(authority: str) -> str:
    """The host and port in `user:password@host:port`."""
    user, _, host = authority.rpartition("@")
    port = host[host.rfind(":") :] if ":" in host else ""
    if host.startswith("["):
        if "]" not in host:
            raise UrlError("missing ']' in host")
        port = host[host.rfind("]") + 1 :]
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {go_quote(port)} after host")
    _check_escapes(host, _BAD_HOST_ESCAPE)
    if (found := _BAD_HOST_CHARACTER.search(host)) is not None:
        raise UrlError(f"invalid character {go_quote(found[0])} in host name")
    if not _USER.fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    _check_escapes(user)
    return unquote(host)


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or (not port.isdecimal() and port):
        name, port = host, ""
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port


def _parse(text: str) -> Url:
    if any(character < " " or character == "\x7f" for character in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text:
        raise UrlError("empty url")
    return Url(text)


def _to_url(text: str) -> Url:
    try:
        return _parse(text)
    except UrlError as error:
        raise EvaluationError(
            f"URL parse error during conversion from string: parse {go_quote(text)}: {error}"
        ) from None


def _is_url(text: str) -> bool:
    try:
        _parse(text)
    except UrlError:
        return False
    return True


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "url": {str: _to_url},
    "isURL": {str: _is_url},
    "getScheme": {Url: lambda url: url.scheme},
    "getHost": {Url: lambda url: url.host},
    "getHostname": {Url: lambda url: url.hostname},
    "getPort": {Url: lambda url: url.port},
    "getEscapedPath": {Url: lambda url: url.path},
    "getQuery": {Url: lambda url: parse_qs(url.query, keep_blank_values=True)},
}
