"""Files that only their owner may read, written whole or not at all.

Another user with write access to the folder could create a link with the name of the temporary
file, and we would write to its target. So that name is random, and no existing file is opened.
"""

import os
import secrets
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def write_private_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file; a link of that name is replaced itself, not what it points to."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(unfinished, _FLAGS, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
