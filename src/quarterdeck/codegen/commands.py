"""`docs/reference/cli.md`: what the command line says of itself.

It is asked as a process, because `codegen` and `cli` stand side by side and know nothing of each
other.
"""

import subprocess
import sys
from collections.abc import Iterator

from quarterdeck.codegen.files import File

PAGE = "docs/reference/cli.md"


def files() -> Iterator[File]:
    """The page."""
    command = [sys.executable, "-m", "quarterdeck.cli.reference"]
    yield File(PAGE, subprocess.run(command, check=True, capture_output=True, text=True).stdout)
