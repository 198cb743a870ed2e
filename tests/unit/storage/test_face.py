"""The package's face: everything it names is there, and nothing is loaded too early."""

import subprocess
import sys

import pytest

from quarterdeck import storage


def test_every_public_name_exists() -> None:
    for name in storage.__all__:
        assert getattr(storage, name, storage) is not storage


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        storage.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_memory_store_does_not_load_sqlite() -> None:
    program = (
        "import sys; from quarterdeck.storage import open_memory; open_memory();"
        "sys.exit('sqlite3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
