"""String and bytes literals to their values."""

import re


class LiteralError(ValueError):
    """Raised when an escape names no character."""


_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(
    r"\\(?:([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})|(.))", re.S
)


def unescape(token: str) -> str | bytes:
    """The value of a string or bytes token, quotes and prefixes included.

    Raises:
        LiteralError: when an escape is no Unicode character.
    """
    is_bytes = token[0] in "bB"
    text = token[1:] if is_bytes else token
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    body = text[width:-width].replace("\r\n", "\n").replace("\r", "\n")
    if is_bytes:
        return body.encode() if raw else _bytes(body)
    return body if raw else _ESCAPE.sub(lambda found: _character(found), body)


def _code(escape: str) -> int:
    return int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)


def _character(found: re.Match[str]) -> str:
    if (simple := found[2]) is not None:
        return _SIMPLE[simple]
    code = _code(found[1])
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _bytes(body: str) -> bytes:
    parts: list[bytes] = []
    at = 0
    for found in _ESCAPE.finditer(body):
        parts.append(body[at : found.start()].encode())
        escape = found[1]
        if escape is not None and escape[0] not in "uU":
            parts.append(bytes([_code(escape)]))
        else:
            parts.append(_character(found).encode())
        at = found.end()
    parts.append(body[at:].encode())
    return b"".join(parts)
