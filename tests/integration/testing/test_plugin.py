"""Fixtures, markers and reports of the plugin, some in a pytest of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from quarterdeck.apis.apps import Deployment, DeploymentSpec
from quarterdeck.apis.core.containers import Container
from quarterdeck.apis.core.pods import PodSpec, PodTemplateSpec
from quarterdeck.client import Client
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.meta.selectors import LabelSelector
from quarterdeck.testing import eventually

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis")
FAILING = """
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


INDIRECT = """
import pytest


@pytest.fixture
def other(client):
    closed, close = [], client.aclose

    async def observe():
        closed.append(client)
        await close()

    client.aclose = observe
    yield client
    assert closed == [client]


async def test_it(other):
    assert "gitVersion" in await other.get_server_version()
"""
MARKED = """
import pytest


@pytest.mark.asyncio
async def test_it():
    raise AssertionError("ran without pytest-asyncio")
"""


def run_pytest(folder: Path, test: str) -> "subprocess.CompletedProcess[str]":
    """Run a file of tests with this plugin and no configuration."""
    (folder / "test_it.py").write_text(test)
    command = [*PYTEST, "-c", "/dev/null", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_namespace_is_made_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert request.getfixturevalue("namespace").startswith("test-")


def test_a_failed_test_shows_why_its_reconcile_failed(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, FAILING)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Operator warnings and errors" in done.stdout
    assert "alice may not create widgets" in done.stdout


def test_the_client_is_closed_if_only_a_fixture_uses_it(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, INDIRECT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_test_with_the_marker_of_another_plugin_is_left_to_it(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, MARKED)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "async def functions are not natively supported" in done.stdout
    assert "ran without pytest-asyncio" not in done.stdout.partition("short test summary")[2]


@pytest.mark.cluster(simulate_workloads=True)
async def test_the_marker_gives_options_to_the_cluster(client: Client) -> None:
    labels = {"app": "web"}
    pod = PodSpec(containers=(Container(name="web", image="nginx"),))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod)
    spec = DeploymentSpec(
        replicas=2, selector=LabelSelector(match_labels=labels), template=template
    )
    await client.create(Deployment(metadata=ObjectMeta(name="web", namespace="default"), spec=spec))

    async def has_ready_replicas() -> bool:
        return (await client.get(Deployment, "web", "default")).status.ready_replicas == 2

    await eventually(has_ready_replicas)


def test_an_unknown_option_of_the_marker_is_named(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        "import pytest\n\n\n@pytest.mark.cluster(simulate=True)\ndef test_it(cluster):\n    ...\n",
    )
    assert done.returncode != 0
    assert "unknown option 'simulate' of pytest.mark.cluster" in done.stdout + done.stderr
