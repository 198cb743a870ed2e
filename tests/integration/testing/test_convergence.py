"""Operators that end in one state whatever happens, and one that does not."""

import itertools

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import Context, Controller
from quarterdeck.testing.convergence import assert_converges
from quarterdeck.testing.poll import eventually


class CrateSpec(Struct, frozen=True, kw_only=True):
    items: tuple[str, ...] = ()


class Start(Struct, frozen=True, kw_only=True):
    number: int = 0
    cause: str = ""


class CrateStatus(Struct, frozen=True, kw_only=True):
    count: int = 0
    starts: tuple[Start, ...] = ()


class Crate(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Crate", plural="crates")
    spec: CrateSpec = CrateSpec()
    status: CrateStatus = CrateStatus()


async def pack(crate: Crate, ctx: Context[Crate]) -> None:
    items = [
        ConfigMap(metadata=ObjectMeta(name=f"{ctx.key.name}-{item}"), data={"item": item})
        for item in crate.spec.items
    ]
    await ctx.apply_all(items, prune=[ConfigMap])
    ctx.status.set(count=len(items))


async def repack(client: Client) -> None:
    """Pack, wait for it, and pack something else."""
    metadata = ObjectMeta(name="c", namespace="default")
    await client.create(Crate(metadata=metadata, spec=CrateSpec(items=("a", "b", "c"))))

    async def packed() -> bool:
        return (await client.get(Crate, "c", "default")).status.count == 3

    await eventually(packed)
    crate = await client.get(Crate, "c", "default")
    await client.update(replace(crate, spec=CrateSpec(items=("c", "d"))))


async def test_a_level_triggered_operator_converges() -> None:
    tried = await assert_converges(
        lambda: [Controller(reconcile=pack, for_=Crate, owns=[ConfigMap])],
        repack,
        definitions=[Crate],
        compare=[Crate, ConfigMap],
        seeds=(1, 2, 3),
    )
    assert tried.writes == tried.crashes == 8, "a b c + status, d - a - b + status"


async def test_an_operator_with_a_memory_of_its_own_is_found_out() -> None:
    def controllers() -> list[Controller[Crate]]:
        done: set[str] = set()

        async def forgetful(crate: Crate, ctx: Context[Crate]) -> None:
            """Counts only what it made since it started."""
            for item in crate.spec.items:
                if await ctx.find(ConfigMap, item) is None:
                    await ctx.create(ConfigMap(metadata=ObjectMeta(name=item)))
                    done.add(item)
            ctx.status.set(count=len(done))

        return [Controller(reconcile=forgetful, for_=Crate, owns=[ConfigMap])]

    async def fill(client: Client) -> None:
        metadata = ObjectMeta(name="c", namespace="default")
        await client.create(Crate(metadata=metadata, spec=CrateSpec(items=("a", "b", "c"))))

    with pytest.raises(
        AssertionError, match=r"after a crash behind write \d of 4: Crate default/c differs"
    ):
        await assert_converges(
            controllers, fill, definitions=[Crate], compare=[Crate, ConfigMap], seeds=()
        )


async def test_what_may_differ_is_ignored() -> None:
    starts = itertools.count(1)

    def controllers() -> list[Controller[Crate]]:
        start = next(starts)

        async def count_starts(crate: Crate, ctx: Context[Crate]) -> None:
            entries = (Start(number=start, cause="first"), Start(number=start, cause="second"))
            ctx.status.set(count=start, starts=entries)

        return [Controller(reconcile=count_starts, for_=Crate)]

    async def fill(client: Client) -> None:
        await client.create(Crate(metadata=ObjectMeta(name="c", namespace="default")))

    async def check(*ignore: str) -> None:
        await assert_converges(
            controllers, fill, definitions=[Crate], compare=[Crate], seeds=(), ignore=ignore
        )

    with pytest.raises(AssertionError, match=r'\n-    "count": \d+,?\n\+    "count": \d+'):
        await check()
    with pytest.raises(AssertionError, match=r'\n-        "number": \d+\n\+        "number": \d+'):
        await check(".status.count")
    await check(".status.count", ".status.starts.number", ".status.absent.number")
    with pytest.raises(ValueError, match="invalid path"):
        await check(".status..count")


def test_crashes_are_choose_crash_points_over_many_writes() -> None:
    from quarterdeck.testing.convergence import _choose_crash_points

    assert _choose_crash_points(3, 20) == [1, 2, 3]
    points = _choose_crash_points(1000, 5)
    assert points == sorted(points)
    assert (points[0], points[-1], len(points)) == (1, 1000, 5)
    assert _choose_crash_points(0, 5) == []
