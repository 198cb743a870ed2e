"""Grafana datasources by three back ends, and what targets get for their metrics."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.integration.operators.experiments.world import (
    SETTINGS,
    World,
    experiment,
    running,
    target,
)

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.client import Client
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret as Sensitive
from quarterdeck.meta.conditions import find
from quarterdeck.operators.experiments.drivers.grafana import GrafanaApi
from quarterdeck.operators.experiments.drivers.targets import to_config
from quarterdeck.operators.experiments.foreign import GrafanaDatasource
from quarterdeck.operators.experiments.kubeconfig import parse, read_secret
from quarterdeck.operators.experiments.ports import Datasource, GrafanaUnavailable

OBSERVED = {"observability": {"enabled": True, "transport": "tailscale", "tenant": "lab"}}
HANG = {"sim.illm.io/workflow-fail": "hang"}
SOURCE = Datasource("exp-1", "one", "http://metrics:8428", "lab", "one")


class FakeGrafana:
    """The datasource API of Grafana over HTTP, as its documentation describes it."""

    def __init__(self) -> None:
        self.datasources: dict[str, dict[str, Any]] = {}
        self.is_down = False

    async def handle(self, request: http.Request) -> http.Response:
        if self.is_down or request.headers.get("authorization") != "Bearer token":
            return _answer(500 if self.is_down else 401, {})
        uid = request.target.rpartition("/")[2]
        body = json.decode(await request.read(1 << 20)) if request.method in ("POST", "PUT") else {}
        if request.method == "POST":
            if body["uid"] in self.datasources:
                return _answer(409, {"message": "data source with the same name already exists"})
            self.datasources[body["uid"]] = body
            return _answer(200, {"message": "Datasource added"})
        if uid not in self.datasources:
            return _answer(404, {"message": "Data source not found"})
        if request.method == "DELETE":
            del self.datasources[uid]
            return _answer(200, {"message": "Data source deleted"})
        self.datasources[uid] = body
        return _answer(200, {"message": "Datasource updated"})


def _answer(status: int, body: dict[str, Any]) -> http.Response:
    return http.Response(status, [("content-type", "application/json")], json.encode(body))


@contextlib.asynccontextmanager
async def grafana() -> AsyncIterator[tuple[FakeGrafana, GrafanaApi]]:
    fake = FakeGrafana()
    server = http.Server(fake.handle, clock=SystemClock())
    listener = await server.listen("127.0.0.1", 0)
    try:
        async with http.Client() as client:
            yield fake, GrafanaApi(listener.url, Sensitive("token"), client=client)
    finally:
        await server.drain(1.0)


async def test_a_datasource_is_created_updated_and_deleted() -> None:
    async with grafana() as (fake, api):
        await api.ensure(SOURCE)
        await api.ensure(SOURCE._replace(tenant="other"))
        (found,) = fake.datasources.values()
        assert found["secureJsonData"] == {"httpHeaderValue1": "other"}
        assert found["jsonData"]["customQueryParameters"] == "extra_label=experiment%3Done"
        await api.delete("exp-1")
        await api.delete("exp-1")
        assert fake.datasources == {}


async def test_a_grafana_that_fails_says_so_without_its_token() -> None:
    async with grafana() as (fake, api):
        fake.is_down = True
        with pytest.raises(GrafanaUnavailable, match="answered 500") as caught:
            await api.ensure(SOURCE)
        assert "token" not in str(caught.value)


async def test_an_experiment_has_a_datasource_while_it_runs() -> None:
    async with (
        grafana() as (fake, api),
        running(SETTINGS._replace(grafana="http"), grafana=api) as world,
    ):
        await world.template("smoke")
        found = await world.create(
            experiment("seen", target("app", "gke", **OBSERVED), annotations=HANG)
        )
        await world.phase("seen", "Running")
        assert [
            each["secureJsonData"]["httpHeaderValue1"] for each in fake.datasources.values()
        ] == ["lab"]
        await world.client.patch(found, {"spec": {"terminate": True}})
        await world.cleaned("seen")
        assert fake.datasources == {}


async def test_a_grafana_that_is_down_does_not_stop_an_experiment() -> None:
    async with (
        grafana() as (fake, api),
        running(SETTINGS._replace(grafana="http"), grafana=api) as world,
    ):
        fake.is_down = True
        await world.template("smoke")
        await world.create(experiment("blind", target("app", "gke", **OBSERVED)))
        done = await world.cleaned("blind")
        assert done.status.phase == "Complete"
        ready = find(done.status.conditions, "ObservabilityReady")
        assert ready is not None and ready.reason == "GrafanaUnavailable"


async def _runs(world: World) -> Any:
    await world.template("smoke")
    found = await world.create(
        experiment("seen", target("app", "gke", **OBSERVED), annotations=HANG)
    )
    await world.phase("seen", "Running")
    return found


async def test_the_grafana_operator_gets_an_object() -> None:
    async with running(SETTINGS._replace(grafana="operator")) as world:
        found = await _runs(world)
        assert len(await world.client.list(GrafanaDatasource, "observability")) == 1
        await world.client.patch(found, {"spec": {"terminate": True}})
        await world.cleaned("seen")
        assert await world.leftovers() == []


@pytest.mark.parametrize("retain", [False, True])
async def test_the_sidecar_gets_a_config_map(retain: bool) -> None:
    async with running() as world:
        found = await _runs(world)
        maps = await world.client.list(ConfigMap, "observability")
        names = [
            each.metadata.name for each in maps if "grafana_datasource" in each.metadata.labels
        ]
        assert len(names) == 1
        await world.client.patch(found, {"spec": {"terminate": True, "retainDatasource": retain}})
        await world.cleaned("seen")
        maps = await world.client.list(ConfigMap, "observability")
        assert any(each.metadata.name == names[0] for each in maps) is retain


async def test_credentials_of_the_tailnet_are_copied_as_a_secret() -> None:
    async with running() as world:
        await world.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "operator-oauth", "namespace": "tailscale"},
                "stringData": {"client_id": "me", "client_secret": "hidden"},
            }
        )
        await _runs(world)
        (connection,) = [
            each
            for each in await world.client.list(Secret, "crossplane-system")
            if each.metadata.name.endswith("-cluster-conn")
        ]
        config = to_config(parse(read_secret(connection.data)))
        async with Client(config) as there:
            copied = await there.get(Secret, "operator-oauth", "tailscale")
            assert sorted(copied.data) == ["client_id", "client_secret"]


async def test_cluster_api_provides_clusters_as_well() -> None:
    settings = SETTINGS._replace(talos_mode="capi", vcluster_mode="capi")
    async with running(settings) as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment("capi", target("a", "talos", "web"), target("b", "vcluster", "web"))
        )
        done = await world.cleaned("capi")
        assert done.status.phase == "Complete", done.status
        assert await world.leftovers() == []


async def test_a_failure_of_cluster_api_is_final() -> None:
    settings = SETTINGS._replace(talos_mode="capi")
    async with running(settings) as world:
        await world.create(
            experiment(
                "capi",
                target("a", "talos"),
                annotations={"sim.illm.io/cluster-fail": "error"},
                retry={"provisioning": 0},
            )
        )
        done = await world.cleaned("capi")
        assert done.status.reason == "ClusterProvisionFailed"
        assert "no quota" in done.status.message
