"""The lock file of the dashboard names versions and digests, and no registry."""

from pathlib import Path

from quarterdeck.kit import json

LOCK = Path(__file__).parents[3] / "web/package-lock.json"


def test_the_lock_file_has_no_address_of_a_registry() -> None:
    packages = json.decode(LOCK.read_bytes())["packages"]
    assert len(packages) > 10
    assert [name for name, each in packages.items() if "resolved" in each] == []
    unlocked = [name for name, each in packages.items() if name and "integrity" not in each]
    assert unlocked == []
