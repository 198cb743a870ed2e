"""From flags, environment and file to settings in force, and where each came from. No I/O."""

import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple

import msgspec

from quarterdeck.app.settings import DEFAULT_HTTP_PORT, UP, Option, Port, Settings

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_COUNTS = {"workers": (1, 256), "event_history": (1, 100_000)}
DEFAULT = "default"


class SettingError(ValueError):
    """Raised when a setting cannot be used; the message names it, its value and the fix."""


class Field(NamedTuple):
    """One setting, as a parser needs it."""

    name: str
    type: Any
    """Without `None`; a `NewType` or `Literal` as declared."""
    option: Option
    default: Any

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def key(self) -> str:
        """Its name in the config file: camelCase."""
        head, *rest = self.name.split("_")
        return head + "".join(word.capitalize() for word in rest)


class Effective(NamedTuple):
    """Settings in force."""

    settings: Settings
    origins: Mapping[str, str]
    """Setting -> `flag --x`, `environment X`, `file path`, or `default`."""


@cache
def fields() -> tuple[Field, ...]:
    """Every setting, in the order of the struct."""
    hints = typing.get_type_hints(Settings, include_extras=True)
    defaults = {each.name: each.default for each in msgspec.structs.fields(Settings)}
    return tuple(_field(name, hint, defaults[name]) for name, hint in hints.items())


def _field(name: str, hint: Any, default: Any) -> Field:
    declared, option = typing.get_args(hint)
    if typing.get_origin(declared) in (typing.Union, UnionType):
        declared = next(each for each in typing.get_args(declared) if each is not NoneType)
    return Field(name, declared, option, default)


def resolve(
    *,
    command: str,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    document: Mapping[str, object] | None = None,
    file: str = "",
) -> Effective:
    """The settings in force for a command; `flags` holds only what was given.

    Raises:
        SettingError: naming the source, the value and what would be right.
    """
    known = {field.key: field for field in fields()}
    for key in document or {}:
        if key not in known:
            close = ", ".join(sorted(known))
            raise SettingError(f"{file}: there is no setting {key!r}; there are: {close}")
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for field in fields():
        origins[field.name] = DEFAULT
        for source, value in _sources(field, command, flags, environment, document or {}, file):
            values[field.name] = convert(field, value, source)
            origins[field.name] = source
            break
    if command == UP:
        values.setdefault("http_port", DEFAULT_HTTP_PORT)
    return Effective(Settings(**values), origins)


def _sources(
    field: Field,
    command: str,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    document: Mapping[str, object],
    file: str,
) -> Iterator[tuple[str, object]]:
    """Where a value may come from, strongest first."""
    if (given := flags.get(field.name)) is not None:
        yield f"flag {field.flag}", given
    for name in _environment_names(field, command):
        if environment.get(name):
            yield f"environment {name}", environment[name]
    if field.key in document and document[field.key] is not None:
        yield f"file {file}", document[field.key]


def _environment_names(field: Field, command: str) -> tuple[str, ...]:
    """PORT moves the façade of `up`; alone it must not open a port of `run`."""
    if field.name == "http_port" and command == UP:
        return (*field.option.env, "PORT")
    return field.option.env


def convert(field: Field, value: object, source: str) -> Any:
    """A value of the setting's type.

    Raises:
        SettingError: if it is none.
    """
    try:
        return _convert(field, value)
    except ValueError as error:
        raise SettingError(f"{field.name} ({source}) is {value!r}: {error}") from error


def _convert(field: Field, value: object) -> Any:
    kind = field.type
    if kind is Port:
        return Port(_number(value, 0, 65535))
    if kind is int:
        return _number(value, *_COUNTS[field.name])
    if kind is bool:
        return _truth(value)
    if kind is Path:
        return Path(_text(value)).expanduser()
    if typing.get_origin(kind) is typing.Literal:
        return _choice(_text(value).lower(), typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        parts = value if isinstance(value, list | tuple) else _text(value).split(",")
        return tuple(dict.fromkeys(str(part).strip() for part in parts if str(part).strip()))
    return _text(value)


def _number(value: object, least: int, most: int) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise ValueError(f"it must be a number from {least} to {most}")
    if not least <= int(text) <= most:
        raise ValueError(f"it must be from {least} to {most}")
    return int(text)


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("it must be true or false")


def _text(value: object) -> str:
    if isinstance(value, str | int | Path):
        return str(value).strip()
    raise ValueError("it must be text")


def _choice(text: str, choices: tuple[str, ...]) -> str:
    text = {"warn": "warning"}.get(text, text)
    if text not in choices:
        raise ValueError(f"it must be one of {', '.join(filter(None, choices))}")
    return text
