"""The Pod Security levels that the labels of a namespace set. Pure."""

import enum
import re
from collections.abc import Mapping
from typing import NamedTuple

from quarterdeck.meta.field import FieldError, invalid

PREFIX = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,5})")
_BAD_VERSION = 'must be "latest" or "v1.x"'


class Level(enum.IntEnum):
    """How much pods are restricted; higher is stricter."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2


_LEVELS = {level.name.lower(): level for level in Level}


class LevelVersion(NamedTuple):
    """A level as a release of Kubernetes defines it; without a number the latest."""

    level: Level = Level.PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        version = "latest" if self.minor is None else f"v1.{self.minor}"
        return f"{self.level.name.lower()}:{version}"


class Policy(NamedTuple):
    """The levels that a namespace sets, and the errors in its labels."""

    enforce: LevelVersion
    audit: LevelVersion
    warn: LevelVersion
    errors: tuple[FieldError, ...] = ()

    @property
    def is_privileged(self) -> bool:
        """Whether nothing is checked at all."""
        return not (self.enforce.level or self.audit.level or self.warn.level)


NO_POLICY = Policy(LevelVersion(), LevelVersion(), LevelVersion())


def parse_labels(labels: Mapping[str, str]) -> Policy:
    """Parse the policy of a namespace; an invalid level of enforce is restricted."""
    if not any(key.startswith(PREFIX) for key in labels):
        return NO_POLICY
    errors: list[FieldError] = []
    found: dict[str, LevelVersion] = {}
    for mode in ("enforce", "audit", "warn"):
        level = _parse_level(labels, mode, errors)
        found[mode] = LevelVersion(level, _parse_version(labels, mode, errors))
    enforce, warn = found["enforce"], found["warn"]
    is_set = labels.get(f"{PREFIX}enforce") in _LEVELS
    if f"{PREFIX}warn" not in labels and is_set and enforce.level > warn.level:
        has_version = f"{PREFIX}warn-version" in labels
        warn = LevelVersion(enforce.level, warn.minor if has_version else enforce.minor)
    return Policy(enforce, found["audit"], warn, tuple(errors))


def _parse_level(labels: Mapping[str, str], mode: str, errors: list[FieldError]) -> Level:
    text = labels.get(f"{PREFIX}{mode}")
    if text is None:
        return Level.PRIVILEGED
    if text in _LEVELS:
        return _LEVELS[text]
    path = f"metadata.labels[{PREFIX}{mode}]"
    errors.append(invalid(path, text, f"must be one of {', '.join(_LEVELS)}"))
    return Level.RESTRICTED if mode == "enforce" else Level.PRIVILEGED


def _parse_version(labels: Mapping[str, str], mode: str, errors: list[FieldError]) -> int | None:
    text = labels.get(f"{PREFIX}{mode}-version")
    if text is None or text == "latest":
        return None
    if match := _VERSION.fullmatch(text):
        return int(match[1])
    errors.append(invalid(f"metadata.labels[{PREFIX}{mode}-version]", text, _BAD_VERSION))
    return None
