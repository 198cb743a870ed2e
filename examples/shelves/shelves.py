"""Owned children: every book on a Shelf is a ConfigMap; books taken off the shelf are pruned."""

import asyncio

from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.conditions import TRUE, Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import Context, Controller, Stalled, run_operator


class Book(Struct, frozen=True, kw_only=True):
    name: str
    text: str = ""


class ShelfSpec(Struct, frozen=True, kw_only=True):
    books: tuple[Book, ...] = ()
    room: int = 10


class ShelfStatus(Struct, frozen=True, kw_only=True):
    books: int = 0
    observed_generation: int = 0
    conditions: Conditions = ()


class Shelf(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Shelf", plural="shelves")
    spec: ShelfSpec = ShelfSpec()
    status: ShelfStatus = ShelfStatus()


async def reconcile(shelf: Shelf, ctx: Context[Shelf]) -> None:
    books = shelf.spec.books
    if len(books) > shelf.spec.room:
        raise Stalled("Full", f"{len(books)} books do not fit where {shelf.spec.room} have room")
    before = {child.metadata.name for child in await ctx.list_owned(ConfigMap)}
    wanted = [child_of(shelf, book) for book in books]
    await ctx.apply_all(wanted, prune=[ConfigMap])
    removed = before - {child.metadata.name for child in wanted}
    if removed:
        ctx.event("Pruned", f"took {', '.join(sorted(removed))} off the shelf")
    ctx.status.set(books=len(books))
    if len(books) == shelf.spec.room:
        ctx.status.set_condition("Ready", TRUE, "NoRoom", "the next book will not fit")


def child_of(shelf: Shelf, book: Book) -> ConfigMap:
    name = f"{shelf.metadata.name}-{book.name}"
    return ConfigMap(metadata=ObjectMeta(name=name), data={"text": book.text})


controller = Controller(reconcile=reconcile, for_=Shelf, owns=[ConfigMap])

if __name__ == "__main__":
    asyncio.run(run_operator("children", controller))
