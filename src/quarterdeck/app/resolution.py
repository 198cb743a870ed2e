"""Settings in force, and the source of each: flags, environment, file or default. No I/O."""

import typing
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple

import msgspec

from quarterdeck.app.errors import SettingError
from quarterdeck.app.option import UP, Option, Port
from quarterdeck.app.parts import PARTS
from quarterdeck.app.settings import DEFAULT_HTTP_PORT, Settings
from quarterdeck.kit.redaction import MASK, Secret

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
DEFAULT = "default"
_ENVIRONMENT = "environment "


class Field(NamedTuple):
    """One setting with its type, default and option."""

    name: str
    type: Any
    """Without `None`; a `NewType` or `Literal` as declared."""
    option: Option
    default: Any
    owner: type[msgspec.Struct]
    """The struct that declares it."""

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def key(self) -> str:
        """Its name in the config file: camelCase."""
        head, *rest = self.name.split("_")
        return head + "".join(word.capitalize() for word in rest)

    @property
    def default_text(self) -> str:
        """The default as help and docs show it."""
        if self.option.default_text or is_unset(self.default):
            return self.option.default_text
        return str(self.default).lower() if self.type is bool else str(self.default)


def is_unset(value: object) -> bool:
    """Whether a setting has no value; an empty secret is none."""
    return value in ("", None, (), Secret(""))


class EffectiveSettings(NamedTuple):
    """Settings in force."""

    settings: Settings
    origins: Mapping[str, str]
    """Setting -> `flag --x`, `environment X`, `file path`, or `default`."""
    part_settings: tuple[msgspec.Struct, ...] = ()
    """Settings that operators declare themselves."""

    def get_value(self, field: Field) -> Any:
        """Return the value of a setting."""
        owner = next(
            each for each in (self.settings, *self.part_settings) if type(each) is field.owner
        )
        return getattr(owner, field.name)


@cache
def list_fields() -> tuple[Field, ...]:
    """Every setting, those of all processes first, then those of the operators."""
    return tuple(field for owner in _list_owners() for field in _read_fields(owner))


@cache
def _list_owners() -> tuple[type[msgspec.Struct], ...]:
    modules = [import_module(part.settings) for part in PARTS if part.settings]
    return (Settings, *(module.Settings for module in modules))


def _read_fields(owner: type[msgspec.Struct]) -> Iterator[Field]:
    hints = typing.get_type_hints(owner, include_extras=True)
    defaults = {each.name: each.default for each in msgspec.structs.fields(owner)}
    for name, hint in hints.items():
        declared, option = typing.get_args(hint)
        if typing.get_origin(declared) in (typing.Union, UnionType):
            declared = next(each for each in typing.get_args(declared) if each is not NoneType)
        yield Field(name, declared, option, defaults[name], owner)


def resolve(
    *,
    command: str,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    document: Mapping[str, object] | None = None,
    file: str = "",
) -> EffectiveSettings:
    """The settings in force for a command; `flags` holds only what was given.

    Raises:
        SettingError: naming the source, the value and what would be valid.
    """
    _check_keys(document or {}, file)
    values: dict[type, dict[str, Any]] = {owner: {} for owner in _list_owners()}
    origins: dict[str, str] = {}
    layers = _Layers(command, flags, environment, document or {}, file)
    for field in list_fields():
        origins[field.name] = DEFAULT
        for source, value in _list_values(field, layers):
            values[field.owner][field.name] = convert(field, value, source)
            origins[field.name] = source
            break
    if command == UP:
        values[Settings].setdefault("http_port", DEFAULT_HTTP_PORT)
    settings, *others = (owner(**values[owner]) for owner in _list_owners())
    assert isinstance(settings, Settings)
    return EffectiveSettings(settings, origins, tuple(others))


def _check_keys(document: Mapping[str, object], file: str) -> None:
    known = {field.key for field in list_fields()}
    for key in document:
        if key not in known:
            valid = ", ".join(sorted(field.key for field in list_fields()))
            raise SettingError(f"{file}: unknown setting {key!r}; valid settings: {valid}")


class _Layers(NamedTuple):
    """The sources of values, strongest first."""

    command: str
    flags: Mapping[str, object]
    environment: Mapping[str, str]
    document: Mapping[str, object]
    file: str
    """The path of `document`."""


def _list_values(field: Field, layers: _Layers) -> Iterator[tuple[str, object]]:
    """Each source that has a value, and the value; strongest first."""
    if (given := layers.flags.get(field.name)) is not None:
        yield f"flag {field.flag}", given
    for name in _list_environment_names(field, layers.command):
        if layers.environment.get(name):
            yield f"{_ENVIRONMENT}{name}", layers.environment[name]
    if (written := layers.document.get(field.key)) is not None:
        yield f"file {layers.file}", written


def _list_environment_names(field: Field, command: str) -> tuple[str, ...]:
    """The variables of a setting; PORT sets the plain port of `up`, but not of `run`."""
    if field.name == "http_port" and command == UP:
        return (*field.option.env, "PORT")
    return field.option.env


def convert(field: Field, value: object, source: str) -> Any:
    """Convert a value to the setting's type.

    Raises:
        SettingError: if the value is invalid.
    """
    if field.type is int and field.option.is_clamped and source.startswith(_ENVIRONMENT):
        return _clamp_number(value, field)
    try:
        return _convert(field, value)
    except ValueError as error:
        shown = MASK if typing.get_origin(field.type) is Secret else repr(value)
        raise SettingError(f"invalid {field.name} {shown} ({source}): {error}") from error


def _convert(field: Field, value: object) -> Any:
    kind, option = field.type, field.option
    if kind is Port:
        number = _parse_number(value, 0, 65535)
        return Port(max(number, option.minimum) if number and option.is_clamped else number)
    if kind is int:
        return _parse_number(value, option.minimum, option.maximum)
    if kind is float:
        return _parse_fraction(value, option.minimum, option.maximum)
    if kind is bool:
        return _parse_bool(value)
    if kind is Path:
        return Path(_parse_text(value)).expanduser()
    if typing.get_origin(kind) is typing.Literal:
        return _parse_choice(_parse_text(value).lower(), typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        parts = value if isinstance(value, list | tuple) else _parse_text(value).split(",")
        return tuple(dict.fromkeys(str(part).strip() for part in parts if str(part).strip()))
    if typing.get_origin(kind) is Secret:
        return Secret(_parse_text(value))
    return _parse_text(value)


def _parse_number(value: object, minimum: int, maximum: int) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise ValueError(f"must be a number from {minimum} to {maximum}")
    if not minimum <= int(text) <= maximum:
        raise ValueError(f"must be from {minimum} to {maximum}")
    return int(text)


def _clamp_number(value: object, field: Field) -> int:
    text = str(value).strip()
    number = int(text) if text.isascii() and text.removeprefix("-").isdigit() else field.default
    return max(field.option.minimum, min(field.option.maximum, number))


def _parse_fraction(value: object, minimum: float, maximum: float) -> float:
    problem = f"must be a number from {minimum} to {maximum}"
    try:
        number = float(str(value).strip())
    except ValueError:
        raise ValueError(problem) from None
    if not minimum <= number <= maximum:
        raise ValueError(problem)
    return number


def _parse_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("must be true or false")


def _parse_text(value: object) -> str:
    if isinstance(value, str | int | Path):
        return str(value).strip()
    raise ValueError("must be text")


def _parse_choice(text: str, choices: tuple[str, ...]) -> str:
    text = {"warn": "warning", "trace": "debug"}.get(text, text)
    if text not in choices:
        raise ValueError(f"must be one of {', '.join(filter(None, choices))}")
    return text
