"""The metrics of two experiments, read with the rights of whoever asks."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.experiment_comparison import MAX_VALUES, compare_summaries
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.http import Request
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.experiments.results import document
from quarterdeck.operators.experiments.results.document import Result
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.services.hub.web.comparisons import Comparisons, Incomparable
from quarterdeck.services.hub.web.viewer import Transports, Viewer

FOLDER = "/apis/experiments.illm.io/v1alpha1/namespaces/default/experiments"
RBAC = "rbac.authorization.k8s.io"
SPEC = {
    "targets": [{"name": "app", "cluster": {"type": "hub"}}],
    "workflow": {"template": "load", "completion": {"mode": "workflow"}},
}
READER: list[dict[str, Any]] = [
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [
            {"apiGroups": ["experiments.illm.io"], "resources": ["experiments"], "verbs": ["get"]}
        ],
    },
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "reader"}],
    },
]


class World:
    """An API server with experiments, and a dashboard that compares them."""

    def __init__(self, cluster: Cluster, comparisons: Comparisons) -> None:
        self._cluster = cluster
        self._comparisons = comparisons

    async def add(self, name: str, *, url: str = "", samples: dict[str, Any] | None = None) -> None:
        """An experiment that is over; `samples` are stored beside it."""
        client = self._cluster.client
        metadata = {"name": name, "namespace": "default"}
        made = await client.create(
            msgspec.convert({"metadata": metadata, "spec": SPEC}, Experiment)
        )
        if samples is not None:
            url = f"configmap://default/{name}-results"
            summary = document.encode(Result(name=name, samples=samples, units={"p99": "ms"}))
            stored = {"name": f"{name}-results", "namespace": "default"}
            await definitions.apply(
                client.raw,
                [
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": stored,
                        "data": {document.SUMMARY: summary.decode()},
                    }
                ],
            )
        status = {"status": {"phase": "Complete", "resultsURL": url}}
        await client.patch(made, status, subresource="status")

    async def ask(self, a: str, b: str, *, token: str = "root-token") -> tuple[int, dict[str, Any]]:
        """Status and body of a comparison, as a viewer."""
        query = urlencode({"a": a, "b": b})
        viewer = Viewer(identifier=token, csrf="", token=Secret(token))
        request = Request.of("GET", f"/comparison?{query}")
        answer = await self._comparisons.handle(request, viewer)
        return answer.status, json.decode(answer.body)


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[World]:
    """An API server that knows an administrator and somebody who may read experiments only."""
    users = {
        "root-token": User(name="root", groups=(MASTERS_GROUP,)),
        "reader-token": User(name="reader"),
    }
    authenticators = (BearerTokens(users), PlainPort())
    async with Cluster(authenticators=authenticators) as cluster:
        await definitions.install(cluster.client.raw, [Experiment])
        await definitions.apply(cluster.client.raw, READER)
        transports = Transports(ClusterConfig(server=cluster.url), clock=SystemClock())
        try:
            yield World(cluster, Comparisons(transports, compare_summaries))
        finally:
            await transports.aclose()


async def test_metrics_of_two_runs_are_judged_as_the_command_judges_them() -> None:
    slow = {"p99": [20.0 + number / 10 for number in range(10)], "once": [1.0]}
    fast = {"p99": [10.0 + number / 10 for number in range(10)], "late": [2.0]}
    async with running() as world:
        await world.add("before", samples=fast)
        await world.add("after", samples=slow)
        status, found = await world.ask(f"{FOLDER}/before", f"{FOLDER}/after")
        assert (status, found["message"]) == (200, "")
        changes = {each["name"]: each.get("change", "missing") for each in found["metrics"]}
        assert changes == {"p99": "regression", "once": "missing", "late": "missing"}
        p99 = next(each for each in found["metrics"] if each["name"] == "p99")
        assert round(p99["percent"], 1) == 95.7
        low, high = p99["interval"]
        assert low <= p99["difference"] <= high
        status, found = await world.ask(f"{FOLDER}/after", f"{FOLDER}/before")
        assert [each["change"] for each in found["metrics"] if "change" in each] == ["improvement"]


async def test_reading_an_experiment_is_not_reading_its_results() -> None:
    async with running() as world:
        await world.add("first", samples={"p99": [1.0]})
        await world.add("second", samples={"p99": [2.0]})
        paths = (f"{FOLDER}/first", f"{FOLDER}/second")
        assert (await world.ask(*paths))[0] == 200
        status, found = await world.ask(*paths, token="reader-token")
        assert status == 403
        assert 'User "reader" cannot get resource "configmaps"' in found["message"]
        assert (await world.ask(*paths, token="nobody-token"))[0] == 401


UNREADABLE = {
    "": "odd-0 is Complete and has no results",
    "disabled": "has no results",
    "s3://bucket/odd/": "quarterdeck experiments compare",
    "file:///etc/passwd": "not in a ConfigMap",
    "configmap://default/a/../b": "not in a ConfigMap",
    "configmap://default/kube-root-ca.crt": "has no summary.json",
}


async def test_results_that_cannot_be_read_are_explained() -> None:
    async with running() as world:
        await world.add("fine", samples={"p99": [1.0]})
        for number, (url, said) in enumerate(UNREADABLE.items()):
            await world.add(f"odd-{number}", url=url)
            status, found = await world.ask(f"{FOLDER}/odd-{number}", f"{FOLDER}/fine")
            assert (url, status, found["metrics"]) == (url, 200, [])
            assert said in found["message"]


async def test_too_many_values_are_left_to_the_command() -> None:
    async with running() as world:
        await world.add("long", samples={"p99": [1.0] * MAX_VALUES})
        await world.add("short", samples={"p99": [1.0]})
        _, found = await world.ask(f"{FOLDER}/long", f"{FOLDER}/short")
        assert found["metrics"] == [] and "at most 10,000" in found["message"]


async def test_only_experiments_that_exist_are_compared() -> None:
    async with running() as world:
        for path in ("", "/api/v1/namespaces/default/secrets/a", FOLDER, f"{FOLDER}/a/status"):
            status, found = await world.ask(path, f"{FOLDER}/b")
            assert (path, status) == (path, 400)
            assert "must each name one experiment" in found["message"]
        status, found = await world.ask(f"{FOLDER}/gone", f"{FOLDER}/gone")
        assert status == 404 and '"gone" not found' in found["message"]


def test_text_that_is_no_summary_is_explained() -> None:
    with pytest.raises(Incomparable, match="cannot read the stored results"):
        compare_summaries(b"[]", b"{}")
