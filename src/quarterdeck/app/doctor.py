"""Checks of the machine and explanations of the settings, for `quarterdeck doctor`."""

import asyncio
import enum
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import quarterdeck
from quarterdeck.app.certificate_check import NEAR, check_certificates
from quarterdeck.app.certificates import RENEWED, Certificates
from quarterdeck.app.cluster import DATABASE
from quarterdeck.app.errors import StartError
from quarterdeck.app.option import Port
from quarterdeck.app.ports import check_port
from quarterdeck.app.resolution import DEFAULT, EffectiveSettings, is_unset, list_fields
from quarterdeck.app.settings import Settings
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import redact
from quarterdeck.storage.lockfile import find_holder

_LEAST_FREE = 256 * 1024 * 1024
_LEAST_PYTHON = (3, 11)
_CERTIFICATE_FILES = ("hub_oidc_ca_file", "operators_ca_file")
_SECRET_WORDS = ("token", "password", "secret", "key")


class Health(enum.StrEnum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    BAD = "bad"


class Finding(NamedTuple):
    """The outcome of one check."""

    what: str
    health: Health
    text: str


class Explained(NamedTuple):
    """One setting in force."""

    name: str
    value: str
    origin: str


def explain(effective: EffectiveSettings, command: str) -> list[Explained]:
    """Every setting of a command, its value and the source of it; secrets are masked."""
    return [
        Explained(
            field.name,
            _format_value(field.name, effective.get_value(field), effective.origins[field.name]),
            effective.origins[field.name],
        )
        for field in list_fields()
        if command in field.option.commands
    ]


def _format_value(name: str, value: object, origin: str) -> str:
    """Format a value; secrets are masked, but not defaults, which are in the documentation."""
    if is_unset(value):
        return "-"
    if origin != DEFAULT and any(word in name for word in _SECRET_WORDS):
        return "***"
    if isinstance(value, bool):
        return str(value).lower()
    return redact(",".join(value) if isinstance(value, tuple) else str(value))


def list_certificates(effective: EffectiveSettings) -> list[Path]:
    """The certificate files that settings of any command name; only the user can renew them."""
    found = {field.name: effective.get_value(field) for field in list_fields()}
    folders = [found["metrics_cert_path"], found["hub_cert_path"]]
    files = [found[name] for name in _CERTIFICATE_FILES]
    if found["ingester_tls_enabled"]:
        files += [found["ingester_tls_cert"], found["ingester_tls_client_ca"]]
    return [*(Path(each) / "tls.crt" for each in folders if each), *map(Path, filter(None, files))]


async def check(settings: Settings, certificates: Sequence[Path] = ()) -> list[Finding]:
    """Checks of everything that `up` needs; `certificates` are files that settings name."""
    return [
        _check_python(),
        _check_loop(),
        *_check_ports(settings),
        _check_data(settings),
        *_check_certificates(settings, certificates, SystemClock().now()),
        await _kubectl(),
        _check_versions(),
    ]


def _check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _LEAST_PYTHON:
        return Finding("python", Health.BAD, f"{version}; Python 3.11 or newer is required")
    return Finding("python", Health.OK, version)


def _check_loop() -> Finding:
    if find_spec("uvloop") is None:
        return Finding("uvloop", Health.NOTE, "not installed: pip install 'quarterdeck[speed]'")
    return Finding("uvloop", Health.OK, "installed")


def _check_ports(settings: Settings) -> Iterator[Finding]:
    """Whether the ports are free; a server that runs on the same data may use them."""
    running = "" if settings.in_memory else find_holder(settings.data_dir / DATABASE)
    for field in list_fields():
        is_port = field.type is Port and field.owner is Settings
        if not is_port or "up" not in field.option.commands:
            continue
        port = getattr(settings, field.name)
        if port is None:  # off
            continue
        name = field.name.replace("_", " ")
        try:
            check_port(port, field.flag)
        except StartError as error:
            if running:
                text = f"{port} is in use; quarterdeck runs on {settings.data_dir} ({running})"
                yield Finding(name, Health.NOTE, text)
            else:
                yield Finding(name, Health.BAD, str(error))
        else:
            yield Finding(name, Health.OK, f"{port} is free" if port else "any free port")


def _check_data(settings: Settings) -> Finding:
    if settings.in_memory:
        return Finding("data", Health.OK, "in memory, nothing is stored")
    folder = settings.data_dir
    place = _find_existing(folder)
    if not place.is_dir():
        fix = "choose another folder with --data-dir, or use --in-memory"
        return Finding("data", Health.BAD, f"{place} is not a folder: {fix}")
    if not os.access(place, os.W_OK):
        fix = "choose another folder with --data-dir, or use --in-memory"
        return Finding("data", Health.BAD, f"cannot write to {place}: {fix}")
    free = shutil.disk_usage(place).free
    text = f"{folder}, {free // 1024 // 1024} MiB free"
    if free < _LEAST_FREE:
        return Finding(
            "data",
            Health.BAD,
            f"{text}, at least {_LEAST_FREE // 1024 // 1024} MiB are needed: "
            "free space, or choose another folder with --data-dir",
        )
    if holder := find_holder(folder / DATABASE):
        return Finding("data", Health.NOTE, f"{text}; quarterdeck runs on it ({holder})")
    return Finding("data", Health.OK, text)


def _check_certificates(
    settings: Settings, given: Sequence[Path], now: datetime
) -> Iterator[Finding]:
    """Certificates that ended or will soon; a start renews those of the server, and no others."""
    kept = Certificates(folder=settings.data_dir / "pki")
    fixes = {kept.certificate(name): "the next start renews it" for name in RENEWED}
    fixes[kept.certificate("authority")] = f"move {kept.folder} away to make a new authority"
    if settings.in_memory:
        fixes = {}
    fixes |= dict.fromkeys(given, "replace it")
    found = [*check_certificates(fixes, now)]
    for each in found:
        is_renewed = each.path.stem in RENEWED and each.path.parent == kept.folder
        health = Health.BAD if each.is_expired and not is_renewed else Health.NOTE
        yield Finding("certificate", health, f"{each.text}; {fixes[each.path]}")
    if not found and any(path.is_file() for path in fixes):
        yield Finding("certificates", Health.OK, f"none expires within {NEAR.days} days")


def _find_existing(folder: Path) -> Path:
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return folder


async def _kubectl() -> Finding:
    found = shutil.which("kubectl")
    if found is None:
        hint = "not found; quarterdeck get, apply and delete work without it"
        return Finding("kubectl", Health.NOTE, hint)
    process = await asyncio.create_subprocess_exec(
        found,
        *("version", "--client", "--output=json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    try:
        from quarterdeck.kit import json

        version = json.decode(output)["clientVersion"]["gitVersion"]
    except (ValueError, KeyError, TypeError):
        return Finding("kubectl", Health.NOTE, f"cannot read the version of {found}")
    return Finding("kubectl", Health.OK, f"{version} ({found})")


def _check_versions() -> Finding:
    from quarterdeck.server.options import ServerOptions

    text = f"quarterdeck {quarterdeck.__version__}, Kubernetes API {ServerOptions().git_version}"
    return Finding("version", Health.OK, text)
