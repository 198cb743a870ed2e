"""Field errors, worded as Kubernetes words them.

Schema validation, CEL rules, the server's own checks and our builders all report these, and
`wire.status.Invalid` turns a list of them into the 422 that clients know.
"""

import enum
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from quarterdeck.meta import release


class ErrorType(enum.StrEnum):
    """The `reason` of a cause in a Status; the value is the text on the wire."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_TEXTS = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TYPE_INVALID: "Invalid value",
    ErrorType.INTERNAL: "Internal error",
}

_WITHOUT_VALUE = frozenset(
    {
        ErrorType.REQUIRED,
        ErrorType.FORBIDDEN,
        ErrorType.TOO_LONG,
        ErrorType.INTERNAL,
    }
)


class Bare(str):
    """A value that is shown without quotes, as Go prints some types."""

    __slots__ = ()


OMITTED = Bare("")
"""Marks a value that a message does not format_value."""


class Verbatim(Bare):
    """JSON text that is shown unchanged in every release."""

    __slots__ = ()


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """One validation error of one field."""

    type: ErrorType
    field: str
    value: object = None
    detail: str = ""

    def format_body(self) -> str:
        """The message without the field: `Invalid value: "x": must be …`."""
        text = _TEXTS[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {format_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.format_body()}"


def format_value(value: object) -> str:
    """Format a value as Kubernetes' field errors do: strings are quoted.

    Structures are in Go's syntax up to 1.32, and JSON since.
    """
    if prints_json():
        return _show_json(value)
    return '"null"' if value is None else format_go_syntax(value)


def _show_json(value: object) -> str:
    from quarterdeck.meta import go_literal  # only the server prints such values

    match value:
        case Verbatim():
            return str(value)
        case Bare():
            return go_literal.to_json(str(value))
        case str():
            return quote(value)
        case float():
            return format_go_float(value)
        case _:
            return go_literal.encode(_sort_members(value))


def _sort_members(value: object) -> object:
    """Sort the members of maps at any depth, as Go does."""
    if isinstance(value, dict):
        return {name: _sort_members(value[name]) for name in sorted(value)}
    return [_sort_members(each) for each in value] if isinstance(value, list) else value


def prints_json() -> bool:
    """Whether this release shows structures in messages as JSON."""
    return release.has_feature("MessagesPrintJson")


def format_go_syntax(value: object) -> str:
    """A JSON value as Go's `%#v` prints it once decoded."""
    match value:
        case Bare():
            return str(value)
        case str():
            return quote(value)
        case None:
            return "interface {}(nil)"
        case bool():
            return "true" if value else "false"
        case float():
            return format_go_float(value)
        case dict():
            members = (f"{quote(key)}:{format_go_syntax(value[key])}" for key in sorted(value))
            return "map[string]interface {}{" + ", ".join(members) + "}"
        case list():
            return "[]interface {}{" + ", ".join(map(format_go_syntax, value)) + "}"
        case _:
            return str(value)


def format_go_value(value: object) -> str:
    """A JSON value as Go's `%v` prints it once decoded: without quotes and types."""
    match value:
        case dict():
            members = (f"{name}:{format_go_value(value[name])}" for name in sorted(value))
            return f"map[{' '.join(members)}]"
        case list():
            return f"[{' '.join(map(format_go_value, value))}]"
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return format_go_float(value)
        case _:
            return str(value)


def get_go_type(value: object) -> str:
    """The Go type of a decoded JSON value, as `%T` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"


def format_go_float(value: float) -> str:
    """A float as Go's `%v` prints it: shortest digits, an exponent from a million on."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    sign, digits, exponent = _split_digits(value)
    if -4 <= exponent < 6:
        return f"{value:.{max(0, len(digits) - 1 - exponent)}f}"
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{exponent:+03d}"


def _split_digits(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits, and the power of ten of the first digit."""
    mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    digits = mantissa.replace(".", "").rstrip("0") or "0"
    return sign, digits, int(exponent) if value else 0


def quote(text: str) -> str:
    """A string as Go's `%q` prints it."""
    return '"' + "".join(_escape(character) for character in text) + '"'


_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _escape(character: str) -> str:
    if (escaped := _ESCAPES.get(character)) is not None:
        return escaped
    code = ord(character)
    if character.isprintable() or code > 0xFFFF:
        return character
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"


def invalid(field: str, value: object, detail: str) -> FieldError:
    """Build the error for a value that is not allowed."""
    return FieldError(type=ErrorType.INVALID, field=field, value=value, detail=detail)


def type_invalid(field: str, value: object, detail: str) -> FieldError:
    """Build the error for a value of the wrong type."""
    return FieldError(type=ErrorType.TYPE_INVALID, field=field, value=value, detail=detail)


def required(field: str, detail: str = "") -> FieldError:
    """Build the error for a missing value."""
    return FieldError(type=ErrorType.REQUIRED, field=field, detail=detail)


def forbidden(field: str, detail: str) -> FieldError:
    """Build the error for a field that may not be set or changed."""
    return FieldError(type=ErrorType.FORBIDDEN, field=field, detail=detail)


def duplicate(field: str, value: object) -> FieldError:
    """Build the error for a duplicate value."""
    return FieldError(type=ErrorType.DUPLICATE, field=field, value=value)


def not_found(field: str, value: object) -> FieldError:
    """Build the error for a reference to something that does not exist."""
    return FieldError(type=ErrorType.NOT_FOUND, field=field, value=value)


def not_supported(field: str, value: object, choices: Sequence[str]) -> FieldError:
    """Build the error for a value that is not one of the choices, which are listed."""
    detail = "supported values: " + ", ".join(quote(choice) for choice in choices)
    return FieldError(
        type=ErrorType.NOT_SUPPORTED, field=field, value=value, detail=detail if choices else ""
    )


def too_long(field: str, value: object, limit: int) -> FieldError:
    """Build the error for a string over its limit in bytes; the message omits the value."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(
        type=ErrorType.TOO_LONG,
        field=field,
        value=value,
        detail=f"may not be more than {limit} {unit}",
    )


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """Build the error for a list or map with too many items."""
    return FieldError(
        type=ErrorType.TOO_MANY,
        field=field,
        value=actual,
        detail=f"must have at most {limit} {_choose_item_word(limit)}",
    )


def _choose_item_word(limit: int) -> str:
    """Return the word for items in a message; newer releases use the singular for one."""
    return "item" if limit == 1 and release.has_feature("NewerMessages") else "items"


def internal(field: str, detail: str) -> FieldError:
    """Build the error for an internal failure."""
    return FieldError(type=ErrorType.INTERNAL, field=field, detail=detail)
