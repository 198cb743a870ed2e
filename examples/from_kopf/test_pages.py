"""Both operators do the same to one object; only ours puts back what others change."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from pages import Page, PageSpec, controller

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Manager
from quarterdeck.testing import eventually

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
KOPF = Path(__file__).parent / "with_kopf.py"


@asynccontextmanager
async def run_ours(client: Client, kubeconfig: Path) -> AsyncIterator[None]:
    manager = Manager(client, name="pages")
    manager.add(controller)
    async with manager.running():
        yield


@asynccontextmanager
async def run_kopf(client: Client, kubeconfig: Path) -> AsyncIterator[None]:
    pytest.importorskip("kopf")
    command = [sys.executable, "-m", "kopf", "run", "--all-namespaces", "--standalone", str(KOPF)]
    environment = {"KUBECONFIG": str(kubeconfig)}
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def html_is(client: Client, text: str) -> bool:
    return (await client.get(ConfigMap, "home-page", "default")).data["index.html"] == text


@pytest.mark.parametrize("run", [run_ours, run_kopf])
async def test_a_page_follows_its_title(
    run: Callable[[Client, Path], AbstractAsyncContextManager[None]],
    client: Client,
    kubeconfig: Path,
) -> None:
    await client.resource(CRDS).create(crd.build_manifest([Page]))
    async with run(client, kubeconfig):
        metadata = ObjectMeta(name="home", namespace="default")
        page = await client.create(Page(metadata=metadata, spec=PageSpec(title="Hello")))
        await eventually(lambda: html_is(client, "<h1>Hello</h1>"))
        await client.patch(page, {"spec": {"title": "Bye"}})
        await eventually(lambda: html_is(client, "<h1>Bye</h1>"))
        child = await client.get(ConfigMap, "home-page", "default")
        assert child.metadata.owner_references[0].name == "home"


async def test_what_others_change_is_put_back(client: Client, kubeconfig: Path) -> None:
    await client.resource(CRDS).create(crd.build_manifest([Page]))
    async with run_ours(client, kubeconfig):
        metadata = ObjectMeta(name="home", namespace="default")
        await client.create(Page(metadata=metadata, spec=PageSpec(title="Hello")))
        await eventually(lambda: html_is(client, "<h1>Hello</h1>"))
        child = await client.get(ConfigMap, "home-page", "default")
        await client.patch(child, {"data": {"index.html": "spam"}})
        await eventually(lambda: html_is(client, "<h1>Hello</h1>"))
