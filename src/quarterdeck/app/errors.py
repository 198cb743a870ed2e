"""What stops a process from starting or running.

    StartError          something cannot start
    └── NotConfigured   an operator named in --operators lacks a required setting
    SettingError        a setting has an invalid value
    Interrupted         a signal ended the process early

Each message is one line for the user, with the fix.
"""

from quarterdeck.kit.full_disk import is_full_disk


class StartError(Exception):
    """Raised when a port, the data or a cluster cannot be used."""


class NotConfigured(StartError):
    """Raised when an operator named in --operators lacks a setting without a default."""


class SettingError(ValueError):
    """Raised when a setting is invalid; the message names its source, its value and the fix."""


class Interrupted(Exception):
    """Raised when a signal arrives during the start, or a second Ctrl-C during the shutdown."""


def explain_os_error(error: OSError, *, fix: str) -> str:
    """The reason and what to do: `fix`, or for a full disk to free space, whatever the file."""
    if is_full_disk(error):
        return "the disk is full; free space and start again"
    return f"{error.strerror or error}; {fix}"
