"""Python for processes of tests: measured where the tests are."""

import os
import shlex
import sys

PYTHON = (sys.executable, *shlex.split(os.environ.get("BRANCH_COVERAGE_CHILD", "")))
"""Goes before `-m MODULE`. Tests of memory, of start-up time and of what is imported use
`sys.executable` itself."""
