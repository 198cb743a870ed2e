"""`quarterdeck get --watch`: rows as they change."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.apis.experiments.targets import ClusterSpec, Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment, ExperimentSpec
from quarterdeck.apis.experiments.workflow import Completion, WorkflowSpec
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.cli.changes import iterate_changes
from quarterdeck.cli.experiments import changes
from quarterdeck.cli.server_table import RowPrinter, follow_table
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.server.options import ServerOptions
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions

MAPS = GVR("", "v1", "configmaps")


def build_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def build_experiment(name: str) -> Experiment:
    return Experiment(
        metadata=ObjectMeta(name=name),
        spec=ExperimentSpec(
            targets=(Target(name="app", cluster=ClusterSpec(type="hub")),),
            workflow=WorkflowSpec(template="run", completion=Completion(mode="workflow")),
        ),
    )


@contextlib.asynccontextmanager
async def start(**options: Any) -> AsyncIterator[Client]:
    async with (
        Cluster(options=ServerOptions(lifecycle=False, **options)) as cluster,
        Client(ClusterConfig(server=cluster.url)) as client,
    ):
        yield client


async def test_rows_are_printed_when_objects_change() -> None:
    async with start() as client:
        maps = client.resource(MAPS)
        await maps.create(build_map("one"), "default")
        path = ResourcePath(*MAPS, "default", "")
        async with contextlib.aclosing(
            follow_table(client, path, ListOptions(), wide=False)
        ) as lines:
            seen = [(await anext(lines)).split()[:2] for _ in range(2)]
            assert seen[0] == ["NAME", "DATA"]
            await maps.patch("one", {"data": {"a": "1"}}, namespace="default")
            await maps.create(build_map("a-longer-name"), "default")
            await maps.delete("one", "default")
            rows = [(await anext(lines)).split()[:2] for _ in range(3)]
    assert rows == [["one", "1"], ["a-longer-name", "0"], ["one", "1"]]


async def test_one_object_is_followed_by_its_name() -> None:
    async with start() as client:
        maps = client.resource(MAPS)
        await maps.create(build_map("one"), "default")
        path = ResourcePath(*MAPS, "default", "one")
        async with contextlib.aclosing(
            follow_table(client, path, ListOptions(), wide=False)
        ) as lines:
            await anext(lines)
            await anext(lines)
            await maps.create(build_map("two"), "default")
            await maps.patch("one", {"data": {"a": "1"}}, namespace="default")
            assert (await anext(lines)).split()[:2] == ["one", "1"]


async def test_a_watch_that_the_server_ends_goes_on() -> None:
    async with start(watch_timeout_s=0.05) as client:
        maps = client.resource(MAPS)
        await maps.create(build_map("one"), "default")
        path = ResourcePath(*MAPS, "default", "")
        async with contextlib.aclosing(
            follow_table(client, path, ListOptions(), wide=False)
        ) as lines:
            for _ in range(2):
                await anext(lines)
            for number in range(5):
                await maps.patch("one", {"data": {f"k{number}": "1"}}, namespace="default")
                assert (await anext(lines)).split()[:2] == ["one", str(number + 1)]


async def test_objects_come_again_when_the_version_of_a_watch_is_gone() -> None:
    async with (
        Cluster(options=ServerOptions(lifecycle=False, watch_timeout_s=0.05)) as cluster,
        Client(ClusterConfig(server=cluster.url)) as client,
    ):
        await client.resource(MAPS).create(build_map("one"), "default")
        path = ResourcePath(*MAPS, "default", "one")
        async with contextlib.aclosing(iterate_changes(client, path, ListOptions())) as found:
            assert (await anext(found))[0] == "ADDED"
            await client.resource(MAPS).create(build_map("two"), "default")
            await cluster.api.core.store.compact(cluster.api.core.store.revision)
            type_, document = await anext(found)
    assert (type_, document["metadata"]["name"]) == ("ADDED", "one")


async def test_a_run_is_followed_when_the_version_of_a_watch_is_gone() -> None:
    async with (
        Cluster(options=ServerOptions(lifecycle=False, watch_timeout_s=0.05)) as cluster,
        Client(ClusterConfig(server=cluster.url)) as client,
    ):
        await definitions.install(client.raw, (Experiment,))
        await client.create(build_experiment("demo"), "default")
        store = cluster.api.core.store
        async with contextlib.aclosing(changes(client, "demo", "default")) as found:
            assert (await anext(found)).metadata.name == "demo"
            await client.resource(MAPS).create(build_map("one"), "default")
            await store.compact(store.revision)
            assert (await anext(found)).metadata.name == "demo"
            await client.delete(Experiment, "demo", "default")
            await client.resource(MAPS).create(build_map("two"), "default")
            await store.compact(store.revision)
            assert [each async for each in found] == []


@pytest.mark.parametrize("first", [[], [["a", "1"]]])
def test_the_head_comes_once_and_columns_grow(first: list[list[str]]) -> None:
    printer = RowPrinter()
    head = ["NAME", "N"]
    lines = [*printer.format_rows([head, *first]), *printer.format_rows([head, ["longer", "2"]])]
    lines += printer.format_rows([head, ["b", "\x1b[2J"]])
    assert json.dumps(lines).count("NAME") == 1
    assert lines[-1].startswith("b        ") and "\x1b" not in lines[-1]
