"""Converts tokens of numbers, strings and bytes to constants."""

import math
import re

from quarterdeck.cel.syntax.ast import Literal_
from quarterdeck.cel.syntax.lexer import Token
from quarterdeck.cel.types import BYTES, DOUBLE, INT, STRING, UINT
from quarterdeck.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_MAX_DIGITS = 4000
"""Limit of digits: more than any valid number has, and fewer than Python's own limit."""


class LiteralError(ValueError):
    """Raised when a number is out of range, or an escape is not a Unicode character."""


def read(token: Token, pos: int, *, sign: str = "") -> Literal_:
    """The constant of a token; `pos` is its offset, that of its sign if it has one.

    Raises:
        LiteralError: if a number is out of range, or an escape is not a Unicode character.
    """
    match token.kind:
        case "NUM_INT":
            return Literal_(
                pos, _parse_integer(sign + token.text, "int", INT_MIN, INT_MAX), type=INT
            )
        case "NUM_UINT":
            number = _parse_integer(token.text[:-1], "uint", 0, UINT_MAX)
            return Literal_(pos, UInt(number), type=UINT)
        case "NUM_FLOAT":
            return Literal_(pos, _parse_double(sign + token.text), type=DOUBLE)
    value = unescape(token.text)
    return Literal_(pos, value, type=BYTES if isinstance(value, bytes) else STRING)


def _parse_integer(text: str, kind: str, least: int, most: int) -> int:
    if len(text) <= _MAX_DIGITS:
        number = int(text, 16 if "x" in text else 10)
        if least <= number <= most:
            return number
    raise LiteralError(f"invalid {kind} literal")


def _parse_double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise LiteralError("invalid double literal")
    return number


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
        LiteralError: if an escape is not a Unicode character.
    """
    is_bytes = token[0] in "bB"
    text = token[1:] if is_bytes else token
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    body = text[width:-width]
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if is_bytes:
        return body.encode() if raw else _decode_bytes(body)
    return body if raw or "\\" not in body else _ESCAPE.sub(_decode_character, body)


def _parse_code(escape: str) -> int:
    return int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)


def _decode_character(found: re.Match[str]) -> str:
    if (simple := found[2]) is not None:
        return _SIMPLE[simple]
    code = _parse_code(found[1])
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _decode_bytes(body: str) -> bytes:
    parts: list[bytes] = []
    at = 0
    for found in _ESCAPE.finditer(body):
        parts.append(body[at : found.start()].encode())
        if (escape := found[1]) is None:
            parts.append(_SIMPLE[found[2]].encode())
        elif escape[0] in "uU":
            raise LiteralError("unable to unescape string")
        else:
            parts.append(bytes([_parse_code(escape)]))
        at = found.end()
    parts.append(body[at:].encode())
    return b"".join(parts)
