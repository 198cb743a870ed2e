"""Values whose JSON Go writes by hand: times, quantities, base64, integers or strings.

Each function takes a decoded JSON value and returns it as Go would write it back, or raises
`Mismatch` with Go's own words.
"""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from quarterdeck.kit import rfc3339
from quarterdeck.kit.quantity import Quantity, QuantityError

INT32_MAX = 2**31 - 1
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_ALPHABET = re.compile(r"[A-Za-z0-9+/]*")


class Mismatch(Exception):
    """A JSON value that its Go type cannot take.

    Go goes on after most mismatches and reports the first; one found by a type's own decoder is
    `fatal`: it ends the decoding and is what gets reported.
    """

    def __init__(
        self, found: str = "", go_type: str = "", *, text: str = "", fatal: bool = False
    ) -> None:
        super().__init__()
        self.found = found
        self.go_type = go_type
        self.text = text
        self.fatal = fatal

    def message(self, field: str = "") -> str:
        """Go's words; `field` is struct name and path, empty for the whole document."""
        if self.text:
            return self.text
        place = f"struct field {field}" if field else "value"
        return f"json: cannot unmarshal {self.found} into Go {place} of type {self.go_type}"


def json_kind(value: object) -> str:
    """What Go calls a JSON value in its errors."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"


def decode_bytes(value: Any) -> str:
    """Base64 as Go's standard encoding reads it; line breaks are dropped."""
    if not isinstance(value, str):
        raise Mismatch(json_kind(value), "[]uint8")
    text = value.replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise Mismatch(text=f"illegal base64 data at input byte {_bad_byte(text)}") from None


def _bad_byte(text: str) -> int:
    """Where Go stops: the first byte outside the alphabet, or after a group cut short."""
    match = _ALPHABET.match(text)
    good = match.end() if match else 0
    if good == len(text):
        return good - good % 4 if good % 4 == 1 else good
    if text[good] != "=" or good % 4 in (0, 1):
        return good
    needed = 4 - good % 4
    padding = len(text[good:]) - len(text[good:].lstrip("="))
    return (
        len(text)
        if padding < needed and good + padding == len(text)
        else good + min(padding, needed)
    )


def decode_time(value: Any) -> str | None:
    """A time to the second, in UTC; the zero time is null."""
    return _time(value, rfc3339.format_time, layout="2006-01-02T15:04:05Z07:00")


def decode_micro_time(value: Any) -> str | None:
    """A time to the microsecond."""
    return _time(value, rfc3339.format_micro, layout="2006-01-02T15:04:05.000000Z07:00")


def _time(value: Any, show: Callable[[datetime], str], *, layout: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Mismatch(json_kind(value), "string", fatal=True)
    try:
        moment = rfc3339.parse(value)
    except ValueError:
        text = f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
        raise Mismatch(text=text, fatal=True) from None
    return None if moment == _ZERO_TIME else show(moment)


def decode_quantity(value: Any) -> str:
    """A quantity in its canonical form; a bare number is one too."""
    if value is None:
        return "0"
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return str(Quantity.parse(str(value).strip()))
        except QuantityError:
            pass
    raise Mismatch(text=_QUANTITY_RULE, fatal=True)


def decode_int_or_string(value: Any) -> int | str:
    """A 32-bit integer or a string."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT32_MAX:
        return value
    found = f"number {value}" if json_kind(value) == "number" else json_kind(value)
    raise Mismatch(found, "int32", fatal=True)


def decode_any(value: Any) -> Any:
    """JSON that Go carries without reading it."""
    return value
