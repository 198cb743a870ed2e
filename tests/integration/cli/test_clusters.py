"""`quarterdeck clusters`: a cluster is connected to a hub, listed, and measured."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection
from quarterdeck.apis.core.config import Secret
from quarterdeck.app import definitions
from quarterdeck.app.enrolment import rules_for
from quarterdeck.cli.main import run
from quarterdeck.client import Client, load_config
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.testing.background import BackgroundCluster


@pytest.fixture
def spoke() -> Iterator[BackgroundCluster]:
    with BackgroundCluster() as running:
        yield running


def _prepare(hub: Path, spoke: Path) -> None:
    async def work() -> None:
        async with Client(load_config(hub)) as client:
            await definitions.install(client.raw, KINDS)
        async with Client(load_config(spoke)) as client:
            await populate(client, Profile(nodes=2, pods=4), clock=SystemClock())

    asyncio.run(work())


def _read(hub: Path) -> tuple[ClusterConnection, Secret]:
    async def work() -> tuple[ClusterConnection, Secret]:
        async with Client(load_config(hub)) as client:
            connection = await client.get(ClusterConnection, "spoke", "default")
            return connection, await client.get(Secret, "spoke-credentials", "default")

    return asyncio.run(work())


def test_a_cluster_is_added_listed_and_measured(
    kubeconfig: Path, spoke: BackgroundCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, spoke.kubeconfig)
    hub = ["--hub-kubeconfig", str(kubeconfig)]
    added = ["clusters", "add", "--kubeconfig", str(spoke.kubeconfig), "--name", "spoke"]
    assert run([*added, *hub, "--labels", "env=test", "--display-name", "Spoke"]) == 0
    assert "cluster spoke" in capsys.readouterr().out
    connection, secret = _read(kubeconfig)
    assert connection.spec.labels == {"env": "test"}
    token = (secret.read("token") or b"").decode()
    assert token.count(".") == 2
    assert run([*added, *hub]) == 0  # again is fine
    capsys.readouterr()
    assert run(["clusters", "list", "--kubeconfig", str(kubeconfig)]) == 0
    listed = capsys.readouterr().out
    assert "spoke" in listed and "TOTAL" in listed
    assert run(["clusters", "top", "--kubeconfig", str(kubeconfig)]) == 0
    output = capsys.readouterr().out
    assert "CPU REQUESTED" in output
    assert "spoke" in output and "2.0" in output
    assert token not in output


def test_nothing_to_list_says_what_to_do(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, kubeconfig)
    assert run(["clusters", "list", "--kubeconfig", str(kubeconfig)]) == 0
    assert "clusters add --context" in capsys.readouterr().out
    assert run(["clusters", "add"]) == 2
    assert "--context" in capsys.readouterr().err


def test_the_role_of_the_hub_reads_no_secrets() -> None:
    rules = rules_for(())
    assert all("secrets" not in rule["resources"] for rule in rules)
    assert all(set(rule["verbs"]) == {"get", "list", "watch"} for rule in rules)
    assert all("*" not in (*rule["resources"], *rule["apiGroups"]) for rule in rules)
