"""Resolves plain scalars of YAML to JSON values, as Kubernetes does.

Booleans are those of YAML 1.1, numbers may have prefixes and underscores, and times are strings.
"""

import math
import re

_INTEGER = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BIGGEST, _SMALLEST = 2**64 - 1, -(2**63)


def resolve(text: str) -> bool | float | str | None:
    """Resolve a plain scalar to its value: the text itself if it is a string."""
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text[0] in "-+.0123456789":
        if _INTEGER.match(text):
            return _read_integer(text)
        if _FLOAT.match(text):
            return _read_float(text)
    return text


def _read_integer(text: str) -> int | float | str:
    """Parse an integer; a decimal one over 64 bits becomes a float, or text if that is infinite."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    digits = digits.replace("_", "")
    prefix = digits[:2].lower()
    base = {"0b": 2, "0x": 16, "0o": 8}.get(prefix, 8 if digits[:1] == "0" else 10)
    if base == 10 and len(digits) > 20:
        return _read_long_integer(text)
    try:
        value = sign * int(digits[2:] if prefix in ("0b", "0x", "0o") else digits, base)
    except ValueError:  # a prefix followed by underscores only
        return text
    return (
        value
        if _SMALLEST <= value <= _BIGGEST
        else _read_long_integer(text)
        if base == 10
        else text
    )


def _read_long_integer(text: str) -> float | str:
    value = float(text.replace("_", ""))
    return value if math.isfinite(value) else text


def _read_float(text: str) -> float | int:
    lowered = text.lower()
    if lowered.endswith(("inf", "nan")):
        return float(lowered.replace(".", ""))
    return float(text)
