"""Members of a kubeconfig whose types nobody has checked; what is absent or null is empty.

Numbers pass for text, as they are easily written without quotes. A mapping, list or truth value
of another type is refused, as kubectl does: text such as "false" must not count as true.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.client.errors import ConfigError


def read_mapping(entry: Mapping[str, Any], member: str, where: str) -> Mapping[str, Any]:
    """A mapping.

    Raises:
        ConfigError: naming the place and the member.
    """
    value = entry.get(member)
    if not isinstance(value, dict | None):
        raise ConfigError(f"{where}: {member} must be a mapping")
    return value or {}


def read_mappings(entry: Mapping[str, Any], member: str, where: str) -> list[Mapping[str, Any]]:
    """A list of mappings.

    Raises:
        ConfigError: naming the place and the member.
    """
    found = _read_list(entry, member, where)
    if not all(isinstance(each, dict) for each in found):
        raise ConfigError(f"{where}: {member} must be a list of mappings")
    return found


def read_texts(entry: Mapping[str, Any], member: str, where: str) -> tuple[str, ...]:
    """A list of texts.

    Raises:
        ConfigError: naming the place and the member.
    """
    found = _read_list(entry, member, where)
    if any(isinstance(each, dict | list | None) for each in found):
        raise ConfigError(f"{where}: {member} must be a list of strings")
    return tuple(str(each) for each in found)


def read_flag(entry: Mapping[str, Any], member: str, where: str) -> bool:
    """A truth value.

    Raises:
        ConfigError: naming the place and the member.
    """
    value = entry.get(member)
    if not isinstance(value, bool | None):
        raise ConfigError(f"{where}: {member} must be true or false, without quotes")
    return bool(value)


def _read_list(entry: Mapping[str, Any], member: str, where: str) -> list[Any]:
    value = entry.get(member)
    if not isinstance(value, list | None):
        raise ConfigError(f"{where}: {member} must be a list")
    return value or []
