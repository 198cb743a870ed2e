"""Compares a pipeline on the server with the desired one. Pure.

Formatting does not count: servers reformat contents, and correcting that would never end.
"""

import difflib
from typing import Any

from quarterdeck.operators.pipelines.desired import Desired
from quarterdeck.operators.pipelines.ports import Remote
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.matchers import canonicalize

MAX_PREVIEW = 32_000


def find_differences(desired: Desired, remote: Remote) -> tuple[str, ...]:
    """The names of the fields that differ, as the spec calls them."""
    found = []
    if desired.name != remote.name:
        found.append("name")
    if canonicalize(desired.matchers) != canonicalize(remote.matchers):
        found.append("matchers")
    if desired.enabled != remote.enabled:
        found.append("enabled")
    if desired.config_type != remote.config_type:
        found.append("configType")
    elif not contents.is_equivalent(
        desired.contents, remote.contents, _choose_language(desired.config_type)
    ):
        found.append("contents")
    if (desired.rollout or None) != _read_rollout(remote):
        found.append("rollout")
    return tuple(found)


def _read_rollout(remote: Remote) -> dict[str, Any] | None:
    """The candidate on the server, with the empty members that a server may leave out."""
    if remote.rollout is None:
        return None
    blank = {"contents": "", "matchers": [], "enabled": True, "weight": 0, "chosen": [], "salt": ""}
    return {**blank, **remote.rollout}


def format_preview(desired: Desired, remote: Remote | None, *, is_secret: bool) -> str:
    """Describe what a write would change; if any of the contents are secret, none are shown."""
    if remote is None:
        return f"would be created as {desired.name!r}"
    lines = []
    for field, before, after in (
        ("name", remote.name, desired.name),
        ("matchers", ", ".join(remote.matchers), ", ".join(desired.matchers)),
        ("enabled", remote.enabled, desired.enabled),
        ("configType", remote.config_type, desired.config_type),
    ):
        if before != after:
            lines.append(f"{field}: {before} -> {after}")
    if remote.contents != desired.contents:
        lines += _diff_contents(desired, remote, is_secret=is_secret)
    return cut_preview("\n".join(lines) or "nothing would change")


def cut_preview(text: str) -> str:
    """Cut a preview to the size that a status may have."""
    return text if len(text) <= MAX_PREVIEW else f"{text[:MAX_PREVIEW]}\n… cut"


def _diff_contents(desired: Desired, remote: Remote, *, is_secret: bool) -> list[str]:
    if is_secret:
        return ["contents: differ; they are or were in a Secret and not shown"]
    before, after = remote.contents.splitlines(), desired.contents.splitlines()
    return list(difflib.unified_diff(before, after, "server", "spec", lineterm="", n=2))


def _choose_language(config_type: str) -> ConfigType:
    return ConfigType.ALLOY if config_type == "CONFIG_TYPE_ALLOY" else ConfigType.OPEN_TELEMETRY
