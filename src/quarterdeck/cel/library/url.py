"""URLs as Go's `ParseRequestURI` reads them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, urlsplit

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError

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

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*\Z")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\[\]:/?#@\s<>\"\\^`{|}]*))(?::([0-9]*))?\Z")


class Url:
    """A parsed URL."""

    __slots__ = ("host", "hostname", "path", "port", "query", "scheme", "text")
    cel_type: ClassVar[types.Type] = types.URL

    def __init__(self, text: str) -> None:
        self.text = text
        scheme, colon, rest = text.partition(":")
        self.scheme = ""
        if colon and _SCHEME.match(scheme):
            self.scheme = scheme.lower()
        else:
            rest = text
        self.query = self.path = self.host = self.hostname = self.port = ""
        if not rest.startswith("/"):
            if not self.scheme:
                raise ValueError("invalid URI for request")
            return
        parts = urlsplit(rest)
        self.query = parts.query
        if _BAD_ESCAPE.search(parts.path):
            raise ValueError("invalid URL escape")
        self.path = quote(parts.path, safe="/%:@!$&'()*+,;=~-._[]")
        self.host = parts.netloc.rpartition("@")[2]
        found = _HOST.match(self.host)
        if found is None:
            raise ValueError("invalid host")
        self.hostname = found[1] or found[2] or ""
        self.port = found[3] or ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _parse(text: str) -> Url:
    if not text or any(character < " " or character == "\x7f" for character in text):
        raise ValueError("empty url or control character")
    return Url(text)


def _to_url(text: str) -> Url:
    try:
        return _parse(text)
    except ValueError:
        raise EvaluationError(
            f"URL parse error during conversion from string: parse {_quote(text)}: "
            f"{'empty url' if not text else 'invalid URI for request'}"
        ) from None


def _quote(text: str) -> str:
    from quarterdeck.meta.field import quote as go_quote

    return go_quote(text)


def _is_url(text: str) -> bool:
    try:
        _parse(text)
    except ValueError:
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
