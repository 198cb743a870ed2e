"""Types with their own JSON encoding in Go: times, quantities, base64, integers or strings.

Each function takes a decoded JSON value and returns it as Go would encode it, or raises `Mismatch`
with the message of Go.
"""

import base64
import binascii
import functools
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
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class Mismatch(Exception):
    """Raised when a JSON value does not fit its Go type.

    Go continues after most mismatches and reports the first. One that is found by a type's own
    decoder is `fatal`: it ends the decoding and is reported.
    """

    def __init__(
        self, found: str = "", go_type: str = "", *, text: str = "", fatal: bool = False
    ) -> None:
        super().__init__()
        self.found = found
        self.go_type = go_type
        self.text = text
        self.fatal = fatal

    def format_message(self, field: str = "") -> str:
        """Format the message of Go; `field` is struct name and path, empty for the document."""
        if self.text:
            return self.text
        place = f"struct field {field}" if field else "value"
        return f"json: cannot unmarshal {self.found} into Go {place} of type {self.go_type}"


def name_json_kind(value: object) -> str:
    """Return Go's name for the type of a JSON value in errors."""
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
        raise Mismatch(name_json_kind(value), "[]uint8")
    text = value.replace("\n", "").replace("\r", "")
    try:
        if len(text) % 4 == 0:
            return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, ValueError):
        pass
    raise Mismatch(text=f"illegal base64 data at input byte {_find_bad_byte(value)}")


def _find_bad_byte(text: str) -> int:
    """Return the index of the byte that Go reports: invalid, after bad padding, or incomplete."""
    data = text.encode()
    good = 0  # bytes of the alphabet in the group so far
    for index, byte in enumerate(data):
        if byte in _ALPHABET:
            good = (good + 1) % 4
        elif byte not in b"\r\n":
            return _find_bad_padding(data, index, good)
    return len(data) - good


def _find_bad_padding(data: bytes, index: int, good: int) -> int:
    """Return the index that Go reports if the first byte outside of the alphabet is at `index`."""
    if data[index : index + 1] != b"=" or good < 2:
        return index
    after = index + 1
    if good == 2:
        while data[after : after + 1] in (b"\r", b"\n"):
            after += 1
        if after == len(data):
            return after
        if data[after : after + 1] != b"=":
            return after - 1
        after += 1
    while data[after : after + 1] in (b"\r", b"\n"):
        after += 1
    return after


def decode_time(value: Any) -> str | None:
    """A time to the second, in UTC; the zero time is null."""
    return _decode_time(value, rfc3339.format_time, layout="2006-01-02T15:04:05Z07:00")


_TIME_PARTS = tuple(
    (part, re.compile(shape, re.ASCII))
    for part, shape in (
        *(("2006", r"\d{4}"), ("-", "-"), ("01", r"\d{2}"), ("-", "-"), ("02", r"\d{2}")),
        *(("T", "T"), ("15", r"\d{2}"), (":", ":"), ("04", r"\d{2}"), (":", ":")),
        *(("05", r"\d{2}(?:\.\d+)?"),),
    )
)
_HAS_MICROSECONDS = re.compile(r"\.\d{6}(?:Z|[+-]\d{2}:\d{2})$", re.ASCII)


def decode_micro_time(value: Any) -> str | None:
    """A time to the microsecond."""
    layout = "2006-01-02T15:04:05.000000Z07:00"
    decoded = _decode_time(value, rfc3339.format_micro, layout=layout)
    if decoded is not None and not _HAS_MICROSECONDS.search(value):
        text = f'parsing time "{value}" as "{layout}": cannot parse "{value[19:]}" as ".000000"'
        raise Mismatch(text=text, fatal=True)
    return decoded


def _decode_time(value: Any, show: Callable[[datetime], str], *, layout: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Mismatch(name_json_kind(value), "string", fatal=True)
    return _read_time(value, show, layout=layout)


@functools.lru_cache(1024)  # every write of an object has the same times
def _read_time(value: str, show: Callable[[datetime], str], *, layout: str) -> str | None:
    try:
        moment = rfc3339.parse(value)
    except ValueError:
        rest, part = _find_time_error(value)
        text = f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"'
        raise Mismatch(text=text, fatal=True) from None
    return None if moment == _ZERO_TIME else show(moment)


def _find_time_error(value: str) -> tuple[str, str]:
    """Find where Go cannot parse a time: the remaining text, and the expected layout element."""
    for part, shape in _TIME_PARTS:
        match = shape.match(value)
        if match is None:
            return value, part
        value = value[match.end() :]
    return value, "Z07:00"


def decode_quantity(value: Any) -> str:
    """Return a quantity in its canonical form; a number is also a quantity."""
    if value is None:
        return "0"
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return str(Quantity.parse(str(value).strip()))
        except QuantityError:
            pass
    raise Mismatch(text=_QUANTITY_RULE, fatal=True)


def round_quantity(text: str) -> str:
    """A canonical quantity in thousandths, rounded away from zero."""
    return str(Quantity.parse(text).round_to_milli())


def decode_int_or_string(value: Any) -> int | str:
    """A 32-bit integer or a string."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT32_MAX:
        return value
    found = f"number {value}" if name_json_kind(value) == "number" else name_json_kind(value)
    raise Mismatch(found, "int32", fatal=True)


def decode_any(value: Any) -> Any:
    """Return any JSON unchanged, for types that Go does not decode."""
    return value
