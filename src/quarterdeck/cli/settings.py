"""Settings of `up`, `run` and `doctor` from this process: its flags, environment and file."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quarterdeck.app.errors import SettingError
from quarterdeck.app.resolution import EffectiveSettings, Field, list_fields, resolve

CONFIG_FILE = "quarterdeck.yaml"
CONFIG_ENV = "QUARTERDECK_CONFIG"
EPILOG = "Flags override the environment, the environment overrides the config file."


def add_settings(parser: argparse.ArgumentParser, command: str) -> None:
    """Add every setting of a command; a flag that is not given stays None."""
    parser.add_argument(
        "--config",
        metavar="PATH",
        help=f"Config file. (default: {CONFIG_FILE} if it exists) [env: {CONFIG_ENV}]",
    )
    for field in list_fields():
        if command in field.option.commands:
            parser.add_argument(field.flag, *field.option.aliases, **_describe(field))


def _describe(field: Field) -> dict[str, Any]:
    extra: dict[str, Any] = {"help": describe_setting(field), "default": None}
    if field.type is bool:
        extra["action"] = argparse.BooleanOptionalAction
    else:
        extra["metavar"] = field.option.metavar or field.name.upper()
    return extra


def describe_setting(field: Field) -> str:
    """Help text, default and environment names of a setting."""
    text = field.option.help
    if field.default_text:
        text += f" (default: {field.default_text})"
    if field.option.env:
        text += f" [env: {', '.join(field.option.env)}]"
    return text


def resolve_settings(
    command: str,
    flags: argparse.Namespace,
    *,
    environment: Mapping[str, str] = os.environ,
) -> EffectiveSettings:
    """The settings in force.

    Raises:
        SettingError: naming the source, the value and the fix.
    """
    file = flags.config or environment.get(CONFIG_ENV) or ""
    document, name = read_file(file)
    return resolve(
        command=command,
        flags=vars(flags),
        environment=environment,
        document=document,
        file=name,
    )


def read_file(given: str, folder: Path = Path()) -> tuple[dict[str, object], str]:
    """The config file's content and name; only the default one may be missing.

    Raises:
        SettingError: if it cannot be read or is not a mapping.
    """
    path = Path(given).expanduser() if given else folder / CONFIG_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if given:
            raise SettingError(f"config file {path} does not exist: check --config") from None
        return {}, ""
    except OSError as error:
        raise SettingError(f"cannot read config file {path}: {error.strerror or error}") from error
    from quarterdeck.kit import yaml

    try:
        document = yaml.load(data)
    except yaml.YamlError as error:
        raise SettingError(f"cannot parse config file {path} as YAML: {error}") from error
    if document is None:
        return {}, str(path)
    if not isinstance(document, dict):
        raise SettingError(f"config file {path} must be a mapping of settings to values")
    return document, str(path)
