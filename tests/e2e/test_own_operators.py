"""The tools for users' own operators: new, dev, crds, rbac, as a user calls them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quarterdeck.client import Client, load_config
from quarterdeck.kit import yaml
from quarterdeck.meta.identity import GVR
from quarterdeck.testing import eventually
from quarterdeck.wire.status import ApiError

ROOT = Path(__file__).parents[2]


def call(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quarterdeck.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    done = call("new", "ledger-book", "--group", "books.example.com", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "ledger-book"


def test_a_new_project_passes_its_tests_and_mypy(project: Path) -> None:
    commands = (["pytest", "-q", "-p", "no:cacheprovider"], ["mypy", "."])
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=project, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_definition_and_role_are_what_the_commands_print(project: Path) -> None:
    printed = call("crds", "ledger_book.py", folder=project)
    assert yaml.load(printed.stdout) == yaml.load((project / "crd.yaml").read_text())
    printed = call("rbac", "ledger_book.py", "--name", "ledger-book", "-o", "json", folder=project)
    assert json.loads(printed.stdout) == yaml.load((project / "role.yaml").read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crds", "ledger_book.py:Ledger"), "declares no kind 'Ledger'; it declares LedgerBook"),
        (("crds", "nothing.py"), "file nothing.py not found"),
        (("rbac", "nothing"), "module nothing not found"),
        (("new", "Ledger"), "invalid name 'Ledger'"),
        (("new", "other", "--folder", "."), "is not empty"),
        (("dev", "test_nothing.py"), "file test_nothing.py not found"),
    ],
)
def test_mistakes_are_one_line(project: Path, arguments: tuple[str, ...], message: str) -> None:
    done = call(*arguments, folder=project)
    assert done.returncode != 0
    assert message in done.stderr and "Traceback" not in done.stderr


@contextmanager
def developing(
    project: Path, log: Path, *, source: str = "ledger_book.py"
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "quarterdeck.cli", "dev", source]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--health-port", "0"],
            cwd=project,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(240) == 0


async def test_dev_runs_the_operator_and_follows_its_source(project: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = project / "ledger_book.py"
    with developing(project, log):
        config = project / ".quarterdeck/dev.kubeconfig"
        await eventually(lambda: "manager started" in log.read_text())
        sample = yaml.load((project / "sample.yaml").read_text())
        async with Client(load_config(config)) as client:
            books = client.resource(GVR("books.example.com", "v1alpha1", "ledgerbooks"))
            await books.create(sample)

            async def config_map_is(name: str) -> bool:
                found = await books.get("sample", "default")
                return bool(found["status"]["configMap"] == name)

            await eventually(lambda: config_map_is("sample-text"))
            source.write_text(source.read_text().replace('-text"', '-words"'))
            await eventually(lambda: config_map_is("sample-words"))
            good = source.read_text()
            source.write_text("nonsense(")
            await eventually(lambda: "cannot import ledger_book.py: SyntaxError" in log.read_text())
            source.write_text(good.replace('-words"', '-mended"'))
            await eventually(lambda: config_map_is("sample-mended"))
    assert not re.search("Traceback", log.read_text())


async def test_dev_registers_webhooks_and_answers_why(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/database", tmp_path / "database")
    log, folder = tmp_path / "log", tmp_path / "database"
    with developing(folder, log, source="database.py"):
        await eventually(lambda: "manager started" in log.read_text())
        sample = yaml.load((folder / "sample.yaml").read_text())
        async with Client(load_config(folder / ".quarterdeck/dev.kubeconfig")) as client:
            databases = client.resource(GVR("example.com", "v1", "databases"))
            wrong = {**sample, "spec": {**sample["spec"], "backupSchedule": "nonsense"}}
            with pytest.raises(ApiError, match="'nonsense' needs five fields"):
                await databases.create(wrong)
            await databases.create(sample)

            async def is_ready() -> bool:
                found = await databases.get("sample", "default")
                return bool(found.get("status", {}).get("readyReplicas") == 3)

            await eventually(is_ready)
        health = log.read_text().partition(" --health ")[2].split()[0]
        for kind in ("Database", "databases", "db"):
            done = call("why", kind, "sample", "--health", health, folder=folder)
            assert "wrote    apply StatefulSet default/sample" in done.stdout, done.stderr
