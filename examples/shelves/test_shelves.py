"""The operator against a real API server: children follow the spec, whoever touches them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from shelves import Book, Shelf, ShelfSpec, controller

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.kit import yaml
from quarterdeck.meta import crd
from quarterdeck.meta.conditions import find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta, to_builtins
from quarterdeck.runtime import Manager
from quarterdeck.testing import assert_converges, eventually

HERE = Path(__file__).parent
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class Library:
    """One shelf in a namespace, and what stands on it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def put(self, *books: str, room: int = 10) -> None:
        spec = ShelfSpec(books=tuple(Book(name=b) for b in books), room=room)
        found = await self.client.list(Shelf, self.namespace)
        if found:
            await self.client.patch(found[0], {"spec": to_builtins(spec)})
        else:
            metadata = ObjectMeta(name="s", namespace=self.namespace)
            await self.client.create(Shelf(metadata=metadata, spec=spec))

    async def stands(self, *books: str) -> None:
        async def same() -> bool:
            found = {c.metadata.name for c in await self.client.list(ConfigMap, self.namespace)}
            return found - {"kube-root-ca.crt"} == {f"s-{book}" for book in books}

        await eventually(same)

    async def says(self, reason: str) -> None:
        async def same() -> bool:
            shelf = await self.client.get(Shelf, "s", self.namespace)
            ready = find(shelf.status.conditions, "Ready")
            return ready is not None and ready.reason == reason

        await eventually(same)


@asynccontextmanager
async def library(client: Client, namespace: str) -> AsyncIterator[Library]:
    await client.resource(CRDS).create(yaml.load((HERE / "crd.yaml").read_text()))
    manager = Manager(client, name="children")
    manager.add(controller)
    async with manager.running():
        yield Library(client, namespace)


async def test_books_come_and_go_with_the_spec(client: Client, namespace: str) -> None:
    async with library(client, namespace) as at:
        await at.put("emma", "ulysses")
        await at.stands("emma", "ulysses")
        await at.put("emma", "walden")
        await at.stands("emma", "walden")


async def test_what_others_touch_is_put_back(client: Client, namespace: str) -> None:
    async with library(client, namespace) as at:
        await at.put("emma")
        await at.stands("emma")
        await client.delete(ConfigMap, "s-emma", namespace)
        await at.stands("emma")


async def test_too_many_books_wait_for_their_owner(client: Client, namespace: str) -> None:
    async with library(client, namespace) as at:
        await at.put("a", "b", "c", room=2)
        await at.says("Full")
        await at.put("a", "b", room=2)
        await at.says("NoRoom")


async def test_books_go_with_their_shelf(client: Client, namespace: str) -> None:
    async with library(client, namespace) as at:
        await at.put("emma")
        await at.stands("emma")
        await client.delete(Shelf, "s", namespace)
        await at.stands()


async def test_it_ends_in_one_state_whatever_happens_on_the_way() -> None:
    async def refill(client: Client) -> None:
        at = Library(client, "default")
        await at.put("emma", "ulysses")
        await at.stands("emma", "ulysses")
        await at.put("walden")

    await assert_converges(
        lambda: [controller],
        refill,
        definitions=[Shelf],
        compare=[Shelf, ConfigMap],
    )


def test_the_definition_is_that_of_the_type() -> None:
    assert yaml.load((HERE / "crd.yaml").read_text()) == crd.build_manifest([Shelf])
