"""Commands load no package that takes long to load and gives nothing."""

import subprocess
import sys

PROGRAM = """
import sys
from quarterdeck.cli.lean_start import import_msgspec
import_msgspec()
import msgspec
print("typing_extensions" in sys.modules)
class Point(msgspec.Struct):
    x: int
    y: int = 0
print(msgspec.json.decode(b'{"x": 1}', type=Point))
import typing_extensions
print(typing_extensions.__name__)
"""


def test_msgspec_works_without_typing_extensions_which_can_be_imported_later() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["False", "Point(x=1, y=0)", "typing_extensions"]


def test_a_command_loads_msgspec_without_typing_extensions() -> None:
    code = (
        "import sys; from quarterdeck.cli.main import run;"
        "run(['crds', 'applications']);"
        "print('msgspec' in sys.modules, 'typing_extensions' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True False"
