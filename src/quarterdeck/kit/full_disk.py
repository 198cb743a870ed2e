"""Tells a full disk from other errors of the file system."""

import errno
from typing import Final

FULL_DISK_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""No space left on the device, and a disk quota that is used up: the fix is the same."""


def is_full_disk(error: BaseException) -> bool:
    """Whether an error of the system means that nothing more can be written."""
    return isinstance(error, OSError) and error.errno in FULL_DISK_ERRNOS
