"""`up` and `run` inside this process: they start, work, and end on a signal."""

import asyncio
import contextlib
import io
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_SETTINGS

from quarterdeck.apis.applications.v1 import Application, ApplicationSpec
from quarterdeck.apis.core.nodes import Node
from quarterdeck.apis.core.pods import Pod
from quarterdeck.app import all_in_one, definitions, experiments_samples
from quarterdeck.app.all_in_one import up
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.console import Console
from quarterdeck.app.embedded import Embedded
from quarterdeck.app.errors import Interrupted, SettingError, StartError
from quarterdeck.app.host import Host
from quarterdeck.app.run import run
from quarterdeck.app.settings import Settings
from quarterdeck.app.signals import StopSignal
from quarterdeck.app.start_summary import print_summary
from quarterdeck.client.client import Client
from quarterdeck.client.config.locate import load_config
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.server.options import ServerOptions
from quarterdeck.storage.types import StoreKey
from quarterdeck.wire.query import ListOptions

FREE: dict[str, Any] = dict(FREE_SETTINGS)


class Told(io.StringIO):
    """A stream that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = asyncio.Event()

    def write(self, text: str) -> int:
        if "Activity" in text:
            self.ready.set()
        return super().write(text)


@contextlib.asynccontextmanager
async def ending_on_a_signal(task: "asyncio.Task[None]") -> AsyncIterator[None]:
    try:
        yield
    finally:
        if not task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await task


async def until_running(client: Client, name: str = "web") -> None:
    options = ListOptions(watch=True, field_selector=f"metadata.name={name}")
    async with asyncio.timeout(240), client.watch(Application, "default", options) as events:
        async for event in events:
            if event.object.status.phase == "Running":
                return


def application(name: str = "web") -> Application:
    return Application(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=ApplicationSpec(replicas=1, image="nginx"),
    )


async def test_up_starts_works_and_ends(tmp_path: Path) -> None:
    told = Told()
    settings = Settings(**FREE, data_dir=tmp_path / "data", demo=True)
    clock = SystemClock()
    task = asyncio.ensure_future(up(settings, console=Console(told), started=clock.monotonic()))
    async with asyncio.timeout(240), ending_on_a_signal(task):
        await told.ready.wait()
        async with Client(load_config(tmp_path / "data" / "kubeconfig")) as client:
            await client.create(application())
            await until_running(client)
            await until_running(client, "my-app")
    text = told.getvalue()
    assert "Application default/web created" in text
    assert "stopping\n" in text


async def test_namespaces_of_the_first_examples_are_there_when_it_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = []

    def look_and_print(host: Host, server: Embedded, parts: Any, **more: Any) -> None:
        store = server.api.core.store
        names = (*experiments_samples.NAMESPACES, "default")
        found.extend(each for each in names if store.get(StoreKey("namespaces", "", each)))
        print_summary(host, server, parts, **more)

    monkeypatch.setattr(all_in_one, "print_summary", look_and_print)
    told = Told()
    settings = Settings(**FREE, in_memory=True, operators=("experiments",))
    task = asyncio.ensure_future(up(settings, console=Console(told), started=0.0))
    async with asyncio.timeout(240), ending_on_a_signal(task):
        await told.ready.wait()
    assert found == [*experiments_samples.NAMESPACES, "default"]


async def test_only_the_operators_that_were_asked_for(tmp_path: Path) -> None:
    told = Told()
    settings = Settings(**FREE, in_memory=True, operators=("applications",))
    task = asyncio.ensure_future(up(settings, console=Console(told), started=0.0))
    async with asyncio.timeout(240), ending_on_a_signal(task):
        await told.ready.wait()
    assert "operators  applications\n" in told.getvalue()


async def test_without_kubelet_pods_wait_for_a_node(tmp_path: Path) -> None:
    told = Told()
    settings = Settings(
        **FREE,
        data_dir=tmp_path / "data",
        operators=("applications",),
        controllers_without_kubelet=True,
    )
    task = asyncio.ensure_future(up(settings, console=Console(told), started=0.0))
    async with asyncio.timeout(240), ending_on_a_signal(task):
        await told.ready.wait()
        async with Client(load_config(tmp_path / "data" / "kubeconfig")) as client:
            await client.create(application())
            options = ListOptions(watch=True)
            async with client.watch(Pod, "default", options) as events:
                async for event in events:
                    conditions = event.object.status.conditions
                    if [each.reason for each in conditions] == ["Unschedulable"]:
                        break
            assert event.object.status.phase == "Pending"
            assert await client.list(Node) == []


async def test_run_works_on_a_cluster_and_ends() -> None:
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        await definitions.install(cluster.client.raw, [Application])
        settings = Settings(**FREE, kubeconfig=cluster.kubeconfig, operators=("applications",))
        task = asyncio.ensure_future(run(settings))
        async with asyncio.timeout(240), ending_on_a_signal(task):
            await cluster.client.create(application())
            await until_running(cluster.client)


async def test_run_refuses_what_cannot_work(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
    )
    with pytest.raises(StartError, match=r"127\.0\.0\.1:9"):
        await run(Settings(**FREE, kubeconfig=path))
    with pytest.raises(SettingError, match="nope"):
        await run(Settings(operators=("nope",)))
    with pytest.raises(SettingError, match="invalid --namespace 'A B'"):
        await run(Settings(**FREE, namespace="shop, A B"))
    async with Cluster() as cluster:
        settings = Settings(
            **FREE,
            kubeconfig=cluster.kubeconfig,
            operators=("applications",),
            settings_configmap="no-slash",
        )
        with pytest.raises(SettingError, match="NAMESPACE/NAME"):
            await run(settings)


async def test_a_signal_during_the_start_undoes_it() -> None:
    with pytest.raises(Interrupted, match="before it was ready"):
        async with StopSignal() as stop:
            with stop.starting():
                stop.request_stop()
                await asyncio.sleep(10)


async def test_a_second_interrupt_cuts_the_end_short() -> None:
    with pytest.raises(Interrupted, match="without waiting"):
        async with StopSignal() as stop:
            stop.request_stop(signal.SIGINT)
            await stop.wait()
            stop.request_stop(signal.SIGTERM)  # a supervisor that repeats itself changes nothing
            await asyncio.sleep(0)
            stop.request_stop(signal.SIGINT)
            await asyncio.sleep(10)
