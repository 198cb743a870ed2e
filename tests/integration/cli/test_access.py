"""`quarterdeck access explain`, from the policies on a server."""

import asyncio
import json
from pathlib import Path

import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.cli.main import run
from quarterdeck.client import Client, load_config
from quarterdeck.kit import yaml

ROOT = Path(__file__).parents[3]
POLICY = ROOT / "config/samples/clusterpulse_v1alpha1_monitoraccesspolicy_developers.yaml"
CONNECTION = {
    "apiVersion": "clusterpulse.io/v1alpha1",
    "kind": "ClusterConnection",
    "metadata": {"name": "east", "namespace": "default"},
    "spec": {
        "endpoint": "https://east.example.com",
        "credentialsRef": {"name": "east"},
        "labels": {"environment": "production"},
    },
}


@pytest.fixture
def hub(kubeconfig: Path) -> Path:
    """A server with the sample policy for developers, and a cluster in production."""

    async def install() -> None:
        async with Client(load_config(kubeconfig)) as client:
            await definitions.install(client.raw, KINDS)
            await definitions.apply(client.raw, [yaml.load(POLICY.read_text()), CONNECTION])

    asyncio.run(install())
    return kubeconfig


def explain(hub: Path, *arguments: str) -> int:
    return run(["access", "explain", *arguments, "--kubeconfig", str(hub)])


def test_the_policy_that_allows_is_named(hub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(hub, "ann@example.com", "east", "pvc", "--group", "developers") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("ann@example.com -> pvc on east: ")
    assert "permissions: view" in shown
    [decides] = [line for line in shown.splitlines() if line.startswith("*")]
    assert decides.split()[1:5] == ["default/developers", "group:developers", "100", "Allow"]


def test_who_may_not_see_ends_with_a_failure(hub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(hub, "bob", "east", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["user"], found["cluster"], found["decision"]) == ("bob", "east", "deny")
    assert explain(hub, "ann", "west", "--group", "developers") == 1
    assert "ann -> west: deny" in capsys.readouterr().out


def test_a_policy_that_is_ignored_because_it_is_invalid_is_listed_with_the_reason(
    hub: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = yaml.load(POLICY.read_text())
    broken["metadata"]["name"] = "broken"
    broken["spec"]["identity"]["subjects"] = {"users": ["carol"]}
    broken["spec"]["scope"]["clusters"]["rules"] = [{"selector": {"matchPattern": "(("}}]

    async def apply() -> None:
        async with Client(load_config(hub)) as client:
            await definitions.apply(client.raw, [broken])

    asyncio.run(apply())
    assert explain(hub, "carol", "east") == 1
    shown = capsys.readouterr().out
    assert "every policy that names carol is invalid and ignored" in shown
    assert "default/broken" in shown
    assert "the policy is invalid and ignored: error parsing regexp: missing closing )" in shown
    assert explain(hub, "bob", "east") == 1
    assert "no policy names bob" in capsys.readouterr().out


def test_names_that_the_hub_does_not_know_are_warned_of(
    hub: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(hub, "ann", "esat", "pcv", "--group", "developers")
    assert capsys.readouterr().err.splitlines() == [
        "warning: ClusterConnection 'esat' not found; it is evaluated without labels",
        "warning: no MetricSource has the resourceTypeName 'pcv'",
    ]
    explain(hub, "ann", "east", "nodes", "--group", "developers")
    assert capsys.readouterr().err == ""
