"""Each row of the threat table names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "machine-identity.md"


def test_each_threat_has_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 20
    for row in rows:
        links = re.findall(r"\[(test_\w+)\]\(\.\./\.\./([\w/.]+)\)", row)
        assert links, row
        for name, path in links:
            assert f"def {name}(" in (ROOT / path).read_text(), name
