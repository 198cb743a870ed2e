"""The string formats Kubernetes checks; all others are documentation.

Each test follows what the API server accepts, which is at times more than the standard of the same
name allows.
"""

import base64
import binascii
import functools
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

from quarterdeck.kit import duration
from quarterdeck.kit.digits import parse_digits
from quarterdeck.kit.patterns import compile_re2

FormatCheck = Callable[[str], bool]


def normalize_name(name: str) -> str:
    """Remove dashes from the name of a format: `date-time` and `datetime` are the same."""
    return name.replace("-", "")


def is_known(name: str) -> bool:
    """Whether values of that format are checked."""
    return normalize_name(name) in _TESTS


def find_format_check(name: str) -> FormatCheck | None:
    """The test of a format; None for one that is not checked."""
    return _TESTS.get(normalize_name(name)) if name else None


def _is_uri(text: str) -> bool:
    if not text or any(ord(character) <= 0x20 for character in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or bool(parts.scheme and (parts.netloc or parts.path))


def _is_email(text: str) -> bool:
    address = text.strip()
    if address.endswith(">") and "<" in address:
        address = address[address.rindex("<") + 1 : -1]
    local, at, domain = address.rpartition("@")
    return bool(at and local and domain) and not re.search(r"[\s<>,;]", address)


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in text.split(".")):
        return False
    return compile_re2(_HOSTNAME).search(text)


_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}"
    r"([a-zA-Z\p{L}]){2,63})$"
)


def _strip_leading_zeros(text: str) -> str:
    """Remove leading zeros, because Go's lenient parser reads `010.0.0.1` as `10.0.0.1`."""
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9]+\.|[0-9]+(/|$))", "", text) if "." in text else text


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(_strip_leading_zeros(text))
    except ValueError:
        return None


def _is_ipv4(text: str) -> bool:
    return "." in text and _parse_address(text) is not None


def _is_ipv6(text: str) -> bool:
    return ":" in text and _parse_address(text) is not None


def _is_cidr(text: str) -> bool:
    if "/" not in text or not text.rpartition("/")[2].isascii():
        return False
    address, _, bits = text.rpartition("/")
    found = _parse_address(address)
    length = parse_digits(bits)
    return found is not None and length is not None and length <= found.max_prefixlen


def _is_isbn10(text: str) -> bool:
    digits = text.replace(" ", "").replace("-", "")
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = text.replace(" ", "").replace("-", "")
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


_CARD = (
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]"
    r"|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:2131|1800|35[0-9]{3})[0-9]{11}|6[27][0-9]{14})$"
)


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not re.match(_CARD, digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and base64.b64decode(text, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


def _is_date(text: str) -> bool:
    try:
        return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None and bool(
            date.fromisoformat(text)
        )
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, _, clock = text.lower().partition("t")
    found = re.fullmatch(
        r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", clock
    )
    if found is None or not _is_date(day):
        return False
    return found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


_UNITS = r"(ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)"


def _is_duration(text: str) -> bool:
    try:
        duration.parse(text)
    except ValueError:
        units = re.findall(r"[0-9]+\s*([A-Za-zµ]+)", text)
        return any(re.fullmatch(_UNITS, unit.lower()) for unit in units)
    return True


def _matches_pattern(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _build_pattern_check(pattern: str) -> FormatCheck:
    return functools.partial(_matches_pattern, pattern)


def _is_anything(text: str) -> bool:
    return True


def _build_uuid_pattern(version: str, variant: str) -> str:
    return (
        "[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?"
        + version
        + "[0-9a-fA-F]{3}-?"
        + variant
        + "[0-9a-fA-F]{3}-?[0-9a-fA-F]{12}"
    )


_HEX = "[0-9a-fA-F]"
_COLOR_PART = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"

_TESTS: dict[str, FormatCheck] = {
    "bsonobjectid": _build_pattern_check("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _build_pattern_check(
        rf"({_HEX}{{2}}([:-]){_HEX}{{2}}(\2{_HEX}{{2}}){{4}}((\2{_HEX}{{2}}){{2}}|(\2{_HEX}{{2}}){{14}})?"
        rf"|{_HEX}{{4}}(\.{_HEX}{{4}}){{2}}(\.{_HEX}{{4}}|(\.{_HEX}{{4}}){{7}})?)"
    ),
    "uuid": _build_pattern_check(_build_uuid_pattern(_HEX, _HEX)),
    "uuid3": _build_pattern_check(_build_uuid_pattern("3", _HEX)),
    "uuid4": _build_pattern_check(_build_uuid_pattern("4", "[89abAB]")),
    "uuid5": _build_pattern_check(_build_uuid_pattern("5", "[89abAB]")),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _build_pattern_check(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _build_pattern_check(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _build_pattern_check(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "byte": _is_base64,
    "password": _is_anything,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
}
