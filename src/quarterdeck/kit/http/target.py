"""Request targets: from the bytes of a request line to a path and a query."""

import re

from quarterdeck.kit.http.errors import ProtocolError

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")
_SLASH = (b"2F", b"2f")


def split_target(target: bytes) -> tuple[str, str]:
    """The path, percent-decoded once, and the raw query of a request target.

    An escaped slash stays escaped (`%2F`), because a decoded one could not be told from a
    separator. The absolute form loses its scheme and authority.

    Raises:
        ProtocolError: an escape is malformed or the path is not UTF-8.
    """
    path, _, query = target.partition(b"?")
    if not path.startswith(b"/"):
        path = _to_origin_form(path)
    try:
        if b"%" in path:
            path = _ESCAPE.sub(_decode, path)
        return path.decode(), query.decode("ascii")
    except UnicodeDecodeError:
        raise ProtocolError("the request target is not valid UTF-8") from None


def _to_origin_form(path: bytes) -> bytes:
    """Remove scheme and authority from the absolute form; other forms stay as they are."""
    _, separator, rest = path.partition(b"://")
    if not separator:
        return path
    _, slash, rest = rest.partition(b"/")
    return slash + rest if slash else b"/"


def _decode(match: re.Match[bytes]) -> bytes:
    digits = match.group(1)
    if digits is None:
        raise ProtocolError("the request target has a malformed percent escape")
    if digits in _SLASH:
        return match.group()
    return bytes((int(digits, 16),))
