"""What mypy finds in an operator: mistakes become errors before anything runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a real mypy without a cache

SNIPPET = Path(__file__).with_name("shops.py.txt")
_EXPECTED = re.compile(r"# error: (.+)$")
_FOUND = re.compile(r"^shops\.py:(\d+): error: (.+)$", re.MULTILINE)


def test_mistakes_of_an_operator_are_errors_of_mypy(tmp_path: Path) -> None:
    text = SNIPPET.read_text()
    (tmp_path / "shops.py").write_text(text)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\nplugins = quarterdeck.mypy_plugin\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "shops.py"], cwd=tmp_path, capture_output=True, text=True
    )
    found = {int(line): message for line, message in _FOUND.findall(done.stdout)}
    expected = {
        number: match.group(1)
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := _EXPECTED.search(line)) is not None
    }
    assert found.keys() == expected.keys(), done.stdout + done.stderr
    assert not {n: found[n] for n, part in expected.items() if not found[n].startswith(part)}
