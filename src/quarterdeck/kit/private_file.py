"""Files that only their owner may read, written whole or not at all.

Somebody else who may write to the folder could put a link where the unfinished file is made, and
have us write through it: the name cannot be guessed, and nothing that exists is opened.
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
