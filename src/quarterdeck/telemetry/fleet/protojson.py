"""Messages as proto JSON: lowerCamelCase out, camelCase or snake_case in, zero values left out."""

import base64
import binascii
import re
from typing import Any

from quarterdeck.telemetry.fleet.fields import Field
from quarterdeck.telemetry.fleet.messages import ENUMS, MESSAGES, NUMBERS


class ShapeError(ValueError):
    """Raised when a document is not the message it should be; names the field."""


def read(message: str, document: Any, path: str = "") -> dict[str, Any]:
    """Convert a decoded JSON document to a message; unknown members are ignored.

    Raises:
        ShapeError: naming the field and what it should be.
    """
    if not isinstance(document, dict):
        raise ShapeError(f"{path or message} must be an object")
    result: dict[str, Any] = {}
    for field in MESSAGES[message]:
        value = document.get(field.name)
        if value is None:
            value = document.get(_to_snake_case(field.name))
        if value is not None:
            result[field.name] = _read_field(field, value, _join(path, field.name))
    return result


def _read_field(field: Field, value: Any, path: str) -> Any:
    kind = field.type.removeprefix("optional ")
    if kind.startswith("repeated "):
        if not isinstance(value, list):
            raise ShapeError(f"{path} must be a list")
        return [_read_value(kind[9:], each, f"{path}[{i}]") for i, each in enumerate(value)]
    if kind.startswith("map "):
        if not isinstance(value, dict):
            raise ShapeError(f"{path} must be an object")
        return {key: _read_value(kind[4:], each, f"{path}.{key}") for key, each in value.items()}
    return _read_value(kind, value, path)


def _read_value(kind: str, value: Any, path: str) -> Any:
    if kind in ENUMS:
        return _read_enum(kind, value, path)
    if kind in ("string", "Timestamp"):
        if not isinstance(value, str):
            raise ShapeError(f"{path} must be a string")
        return value
    if kind == "bool":
        if not isinstance(value, bool):
            raise ShapeError(f"{path} must be true or false")
        return value
    if kind in NUMBERS:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ShapeError(f"{path} must be a whole number")
        return value
    if kind == "bytes":
        return _read_bytes(value, path)
    if kind == "Struct":
        if not isinstance(value, dict):
            raise ShapeError(f"{path} must be an object")
        return value
    return read(kind, value, path)


def _read_enum(kind: str, value: Any, path: str) -> Any:
    names = ENUMS[kind]
    if isinstance(value, int) and not isinstance(value, bool):
        return names[value] if 0 <= value < len(names) else value
    if value not in names:
        raise ShapeError(f"{path} must be one of {', '.join(names)}, not {value!r}")
    return value


def _read_bytes(value: Any, path: str) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except binascii.Error as error:
        raise ShapeError(f"{path} must be base64") from error


def write(message: str, document: dict[str, Any]) -> dict[str, Any]:
    """The JSON form of a message: zero values of fields without presence are left out."""
    result: dict[str, Any] = {}
    for field in MESSAGES[message]:
        value = document.get(field.name)
        if value is None:
            continue
        kind = field.type
        if kind.startswith("optional "):
            result[field.name] = _write_value(kind.removeprefix("optional "), value)
        elif kind.startswith("repeated "):
            if value:
                result[field.name] = [_write_value(kind[9:], each) for each in value]
        elif kind.startswith("map "):
            if value:
                members = {key: _write_value(kind[4:], each) for key, each in value.items()}
                result[field.name] = members
        elif kind in MESSAGES or (value and not (kind in ENUMS and value == ENUMS[kind][0])):
            result[field.name] = _write_value(kind, value)
    return result


def _write_value(kind: str, value: Any) -> Any:
    if kind == "bytes":
        return base64.b64encode(value).decode()
    return write(kind, value) if kind in MESSAGES else value


def _to_snake_case(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
