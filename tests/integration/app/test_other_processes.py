"""Processes besides `up`, inside this one: `run` with every operator, `server`, envtest, `dev`."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_SETTINGS

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions, dev, hub_process, parts
from quarterdeck.app.api_server import ServeSettings, serve
from quarterdeck.app.bootstrap import BootstrapSettings, serve_bootstrap
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.clusters_settings import Settings as ClustersSettings
from quarterdeck.app.collector import run_collector
from quarterdeck.app.envtest.storage import find_data_dir, serve_storage
from quarterdeck.app.errors import NotConfigured, SettingError, StartError
from quarterdeck.app.fleet import FleetSettings, serve_fleet
from quarterdeck.app.option import Port
from quarterdeck.app.run import run
from quarterdeck.app.settings import Settings
from quarterdeck.app.signals import StopSignal
from quarterdeck.client import Client, load_config
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.kit import http, json
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.server.api import ApiServer
from quarterdeck.server.options import ServerOptions
from quarterdeck.services.bootstrap.serving import ServingTls
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.services.hub.service import HubServer
from quarterdeck.testing import programs

FREE: dict[str, Any] = {**FREE_SETTINGS, "http_port": None}
LIMIT_S = 240


class Lines:
    """Lines that a process prints, and when one of them came."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def add(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()

    async def wait_for(self, text: str) -> str:
        """The first line with the text."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                self._changed.clear()
                await self._changed.wait()


@contextlib.asynccontextmanager
async def running(work: Awaitable[None]) -> AsyncIterator["asyncio.Future[None]"]:
    """Run a process beside a block; it ends on a signal, as it would by itself."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    except BaseException:
        task.cancel()  # it may not handle signals yet
        await asyncio.wait({task})
        raise
    if not task.done():
        os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(LIMIT_S):
        await task


async def until_accepted(client: Client, kind: type[Any], name: str) -> Any:
    """Wait for the first status that an operator writes."""
    async with asyncio.timeout(LIMIT_S), client.watch(kind, "default") as events:
        async for event in events:
            found = event.object
            if found.metadata.name == name and found.status.observed_generation:
                return found
    raise AssertionError("the watch ended")


async def test_every_operator_runs_on_a_cluster() -> None:
    from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineSpec

    kinds = parts.list_kinds(parts.choose(()))
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        await definitions.install(cluster.client.raw, kinds)
        settings = Settings(**FREE, kubeconfig=cluster.kubeconfig)
        async with running(run(settings)):
            pipeline = Pipeline(
                metadata=ObjectMeta(name="one", namespace="default"),
                spec=PipelineSpec(contents='loki.write "x" {}'),
            )
            await cluster.client.create(pipeline)
            found = await until_accepted(cluster.client, Pipeline, "one")
    reasons = {each.reason for each in found.status.conditions}
    assert "NoConnection" in reasons, "no fleet server is set"


async def test_pipelines_that_were_asked_for_need_a_fleet_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Cluster() as cluster:
        settings = Settings(**FREE, kubeconfig=cluster.kubeconfig, operators=("pipelines",))
        with pytest.raises(NotConfigured, match="set FLEET_MANAGEMENT_BASE_URL"):
            await run(settings)
        monkeypatch.setenv("FLEET_MANAGEMENT_BASE_URL", "https://fleet.example.org")
        with pytest.raises(StartError, match="FLEET_MANAGEMENT_BASE_URL set, but not"):
            await run(settings)


async def test_server_listens_on_a_plain_port_where_it_is_asked_to(tmp_path: Path) -> None:
    lines = Lines()
    settings = ServeSettings(data_dir=tmp_path, port=0, http_port=0)
    async with running(serve(settings, print_line=lines.add, started=0.0)):
        await lines.wait_for("ready in")
        plain = (await lines.wait_for("listening on http://")).removeprefix("listening on ")
        async with Client(load_config(tmp_path / "kubeconfig")) as client:
            written = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
            await client.create(written)
        async with http.Client() as web, await web.request("GET", f"{plain}/readyz") as answer:
            assert answer.status == 200


async def test_server_listens_on_one_port_by_default(tmp_path: Path) -> None:
    lines = Lines()
    settings = ServeSettings(data_dir=tmp_path, port=0)
    async with running(serve(settings, print_line=lines.add, started=0.0)):
        await lines.wait_for("ready in")
    listening = [line for line in lines.lines if line.startswith("listening on")]
    assert [line.partition("://")[0] for line in listening] == ["listening on https"]


async def test_server_ends_when_its_background_work_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_broken = asyncio.Event()

    async def fail(_: ApiServer) -> None:
        await is_broken.wait()
        raise ZeroDivisionError

    monkeypatch.setattr(ApiServer, "run", fail)
    lines = Lines()
    settings = ServeSettings(data_dir=tmp_path, port=0)
    with pytest.raises(ZeroDivisionError):
        async with running(serve(settings, print_line=lines.add, started=0.0)) as process:
            await lines.wait_for("ready in")
            is_broken.set()
            async with asyncio.timeout(LIMIT_S):
                await process


async def test_hub_ends_when_it_cannot_follow_policies_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(_: HubServer) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(HubServer, "run", fail)
    monkeypatch.setattr(
        hub_process, "open_state", lambda *_, clock: open_embedded(None, clock=clock)
    )
    async with Cluster() as cluster:
        process = Settings(kubeconfig=cluster.kubeconfig)
        settings = ClustersSettings(redis_host="redis.example.org", hub_port=Port(0))
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(LIMIT_S):
                await hub_process.serve_hub(process, settings)


async def test_certificate_that_cannot_be_used_names_its_flag(tmp_path: Path) -> None:
    given: dict[str, Any] = {**FREE, "operators": ("applications",), "leader_elect": False}
    async with Cluster() as cluster:
        settings = Settings(**given, kubeconfig=cluster.kubeconfig, metrics_cert_path=tmp_path)
        with pytest.raises(StartError) as caught:
            await run(settings)
    assert str(caught.value).endswith("(--metrics-cert-path)")
    assert str(tmp_path) in str(caught.value)


async def test_pages_may_be_off_while_the_cluster_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{programs.find_free_port()}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    document = {"clusters": [cluster], "contexts": [context], "current-context": "c"}
    path.write_text(json.encode(document).decode())
    off: dict[str, Any] = {"health_bind_address": "0", "metrics_bind_address": "0"}
    settings = Settings(**{**FREE, **off}, kubeconfig=path, operators=("applications",))
    with pytest.raises(StartError, match="cannot reach the API server http://127"):
        await run(settings)


async def test_fleet_server_keeps_nothing_where_it_is_asked_to(tmp_path: Path) -> None:
    lines = Lines()
    settings = FleetSettings(data_dir=tmp_path, in_memory=True, port=0)
    async with running(serve_fleet(settings, print_line=lines.add)):
        url = (await lines.wait_for("listening on")).removeprefix("listening on ")
        await lines.wait_for("the token is in")
        async with http.Client() as web, await web.request("GET", f"{url}/healthz") as answer:
            assert answer.status == 200
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".db", ".sqlite")]


async def test_api_server_of_envtest_asks_where_data_goes(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{programs.find_free_port()}"
    assert await find_data_dir([]) is None
    with pytest.raises(StartError, match=rf"cannot reach {url} \(--etcd-servers\)"):
        await find_data_dir([url])
    async with running(serve_storage([url], tmp_path / "etcd")):
        while True:
            with contextlib.suppress(StartError):
                assert await find_data_dir([f"{url}/"]) == tmp_path / "etcd"
                break
        async with http.Client() as web:
            for path, status in (("/health", 200), ("/version", 200), ("/v3/kv/range", 404)):
                async with await web.request("GET", url + path) as answer:
                    assert (answer.status, await answer.read() != b"") == (status, True)
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"cannot use --data-dir .*file/etcd: Not a directory"):
        await serve_storage([url], tmp_path / "file" / "etcd")


async def test_another_server_in_the_place_of_ours_is_refused(tmp_path: Path) -> None:
    async def answer(_: http.Request) -> http.Response:
        return http.Response(404, [], b"")

    async with http.Server(answer) as server:
        listener = await server.listen("127.0.0.1", 0)
        with pytest.raises(StartError, match="is not the etcd of `quarterdeck envtest`"):
            await find_data_dir([listener.url])
        with pytest.raises(StartError, match=r"cannot listen on .* \(--listen-client-urls\)"):
            await serve_storage([listener.url], tmp_path / "other")


OPERATOR = "import sys\nfrom operator import or_  # Python's own\nsys.exit({})\n"


@pytest.mark.parametrize("name", ["dev_sample.py", "operator.py"])  # Python has an operator
async def test_operator_under_development_starts_again_when_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The module ends its process itself, so that the test need not wait for an operator."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = Path(name)
    file.write_text("ending = 0\n")
    lines = Lines()
    settings = dev.DevSettings(
        target=str(file), health_port=0, kubeconfig=tmp_path / "dev.kubeconfig"
    )
    async with StopSignal() as stop:
        task = asyncio.ensure_future(dev.serve(settings, print_line=lines.add, stop=stop))
        await lines.wait_for("declares no kinds")
        for code in (3, 44):  # of another length: bytecode is kept by time and size
            file.write_text(OPERATOR.format(code))
            await lines.wait_for(f"the operator ended with code {code}")
        assert sum("a file changed" in line for line in lines.lines) >= 1
        stop.request_stop()
        async with asyncio.timeout(LIMIT_S):
            await task
    sys.modules.pop("dev_sample", None)
    assert (tmp_path / "dev.kubeconfig").is_file()


async def test_module_that_cannot_be_imported_starts_nothing(tmp_path: Path) -> None:
    settings = dev.DevSettings(target=str(tmp_path / "absent.py"))
    async with StopSignal() as stop:
        with pytest.raises(SettingError, match=r"^file .* not found"):
            await dev.serve(settings, print_line=print, stop=stop)


async def test_collector_names_what_it_cannot_use(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="CLUSTER_NAME"):
        await run_collector({}, print_line=print)
    environment = {
        "CLUSTER_NAME": "east",
        "CLUSTER_NAMESPACE": "default",
        "INGESTER_ADDRESS": "127.0.0.1:9",
        "COLLECTOR_TOKEN": "secret",
        "INGESTER_TLS_ENABLED": "false",
    }
    absent = tmp_path / "absent"
    with pytest.raises(StartError, match="absent"):
        await run_collector(environment, kubeconfig=absent, print_line=print)
    lines = Lines()
    environment["BUFFER_DIR"] = str(tmp_path / "buffer")
    async with Cluster() as cluster:
        work = run_collector(environment, kubeconfig=cluster.kubeconfig, print_line=lines.add)
        async with running(work):
            line = await lines.wait_for("collecting from")
    assert line.endswith(" as east, pushing to 127.0.0.1:9")
    assert (tmp_path / "buffer").is_dir()


async def test_fleet_server_ends_when_its_work_in_the_background_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without it reports of collectors would only be in memory."""

    async def fail(self: FleetServer) -> None:
        raise RuntimeError("the flush has ended")

    monkeypatch.setattr(FleetServer, "run", fail)
    settings = FleetSettings(data_dir=tmp_path, port=0)
    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(RuntimeError, match="the flush has ended"):
            await serve_fleet(settings, print_line=print)


async def test_bootstrap_service_ends_when_a_part_of_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the renewal of its certificate no machine could reach it a day later."""

    async def fail(self: ServingTls) -> None:
        raise RuntimeError("the renewal has ended")

    monkeypatch.setattr(ServingTls, "run", fail)
    async with Cluster() as cluster, asyncio.timeout(60):
        await definitions.install(cluster.client.raw, KINDS)
        settings = BootstrapSettings(
            kubeconfig=str(cluster.kubeconfig), namespace="default", port=0
        )
        lines: list[str] = []
        with pytest.raises(RuntimeError, match="the renewal has ended"):
            await serve_bootstrap(settings, print_line=lines.append)
        assert lines[0].startswith("listening on https://127.0.0.1:")
