"""Settings of `up`, `run` and `doctor` from this process: its flags, environment and file."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quarterdeck.app.resolution import Effective, SettingError, fields, resolve

CONFIG_FILE = "quarterdeck.yaml"
CONFIG_ENV = "QUARTERDECK_CONFIG"


def parser(command: str, description: str) -> argparse.ArgumentParser:
    """A parser with every setting that the command has; what is not given stays None."""
    made = argparse.ArgumentParser(
        prog=f"quarterdeck {command}",
        description=description,
        epilog="Flags win over environment, environment over the config file.",
    )
    made.add_argument(
        "--config",
        metavar="PATH",
        help=f"config file (default: {CONFIG_FILE}, if there is one; env {CONFIG_ENV})",
    )
    made.add_argument("--debug", action="store_true", help="show a traceback when something fails")
    for field in fields():
        if command in field.option.commands:
            names = f" [env: {', '.join(field.option.env)}]" if field.option.env else ""
            extra: dict[str, Any] = {"help": field.option.help + names, "default": None}
            if field.type is bool:
                extra["action"] = argparse.BooleanOptionalAction
            else:
                extra["metavar"] = field.option.metavar or field.name.upper()
            made.add_argument(field.flag, **extra)
    return made


def effective(
    command: str,
    flags: argparse.Namespace,
    *,
    environment: Mapping[str, str] = os.environ,
) -> Effective:
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
    """The config file's content and name; the default one may be missing, a given one may not.

    Raises:
        SettingError: if it cannot be read or is no mapping.
    """
    path = Path(given).expanduser() if given else folder / CONFIG_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if given:
            raise SettingError(f"there is no config file {path}: check --config") from None
        return {}, ""
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror or error}") from error
    from quarterdeck.kit import yaml

    try:
        document = yaml.load(data)
    except yaml.YamlError as error:
        raise SettingError(f"{path} is not YAML: {error}") from error
    if document is None:
        return {}, str(path)
    if not isinstance(document, dict):
        raise SettingError(f"{path} must be a mapping of settings to values")
    return document, str(path)


__all__: Sequence[str] = ("effective", "parser", "read_file")
