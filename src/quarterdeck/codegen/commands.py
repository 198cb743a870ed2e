"""`docs/reference/cli.md`: the help of every command.

The command line runs as a process, because `codegen` and `cli` are siblings and do not import each
other.
"""

import subprocess
import sys
from collections.abc import Iterator

from quarterdeck.codegen.files import File

PAGE = "docs/reference/cli.md"


def build_files() -> Iterator[File]:
    """The page."""
    command = [sys.executable, "-m", "quarterdeck.cli.reference"]
    yield File(PAGE, subprocess.run(command, check=True, capture_output=True, text=True).stdout)
