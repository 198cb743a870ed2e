"""The report of a failed test, in a pytest of its own."""

import subprocess
import sys
from pathlib import Path

TEST = """
from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Controller, Manager
from quarterdeck.testing import eventually
from quarterdeck.wire.status import Forbidden


async def reconcile(config, ctx):
    raise Forbidden("alice may not create widgets")


async def test_it(client):
    manager = Manager(client)
    manager.add(Controller(reconcile=reconcile, for_=ConfigMap, ready=None))
    async with manager.running():
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        await eventually(lambda: manager.journals[0].recent())
        assert False
"""


def test_a_failed_test_shows_why_its_reconcile_failed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Operator warnings and errors" in done.stdout
    assert "alice may not create widgets" in done.stdout
