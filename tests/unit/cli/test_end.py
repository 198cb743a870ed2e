"""The end of the program."""

import subprocess
import sys

SCRIPT = """
import atexit, gc
from quarterdeck.cli.main import main
kept = [[] for _ in range(10_000)]
atexit.register(lambda: print(gc.isenabled(), len(gc.get_objects()) < 10_000))
main(["--version"])
"""


def test_nothing_is_collected_when_a_command_has_ended() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False True"
