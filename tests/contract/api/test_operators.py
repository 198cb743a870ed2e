"""The runtime at work on every server: definitions, status, children, finalizers, elections."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from quarterdeck.apis.coordination import Lease
from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta import crd
from quarterdeck.meta.conditions import Conditions, find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import (
    Context,
    Controller,
    Finalizer,
    LeaderElection,
    Manager,
    Stalled,
    WatchSettings,
)
from quarterdeck.testing.clocks import VirtualClock
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, NotFound

Places = Callable[[], AbstractAsyncContextManager[Any]]
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
GROUP = f"c{uuid.uuid4().hex[:8]}.example.com"


class PlanSpec(Struct, frozen=True, kw_only=True):
    parts: tuple[str, ...] = ()


class PlanStatus(Struct, frozen=True, kw_only=True):
    parts: int = 0
    observed_generation: int = 0
    conditions: Conditions = ()


class Plan(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group=GROUP, version="v1", kind="Plan", plural="plans")
    spec: PlanSpec = PlanSpec()
    status: PlanStatus = PlanStatus()


async def reconcile(plan: Plan, ctx: Context[Plan]) -> None:
    if "bad" in plan.spec.parts:
        raise Stalled("BadPart", "there is no such part")
    children = [ConfigMap(metadata=ObjectMeta(name=f"part-{part}")) for part in plan.spec.parts]
    await ctx.apply_all(children, prune=[ConfigMap])
    ctx.status.set(parts=len(children))


async def clean(plan: Plan, ctx: Context[Plan]) -> None:
    for child in await ctx.list_owned(ConfigMap):
        await ctx.delete(child)


@contextlib.asynccontextmanager
async def defined(at: Any) -> AsyncIterator[None]:
    """The kind is served within the block, and gone after it."""
    definitions = at.client.resource(CRDS)
    with contextlib.suppress(NotFound):
        await definitions.delete(f"plans.{GROUP}")
    await eventually(lambda: _create(definitions))

    async def served() -> bool:
        await at.client.list(Plan, at.namespace)
        return True

    await eventually(served)
    try:
        yield
    finally:
        for plan in await at.client.list(Plan, at.namespace):
            with contextlib.suppress(ApiError):
                await at.client.patch(plan, {"metadata": {"finalizers": None}})
        await definitions.delete(f"plans.{GROUP}")


async def _create(definitions: Any) -> bool:
    await definitions.create(crd.build_manifest([Plan]))
    return True


def manager(at: Any, **options: Any) -> Manager:
    made = Manager(
        at.client,
        name="contract",
        namespaces=[at.namespace],
        events="off",
        graceful_shutdown_timeout_s=2,
        **options,
    )
    finalizers = [Finalizer(f"{GROUP}/clean", clean)]
    made.add(Controller(reconcile=reconcile, for_=Plan, owns=[ConfigMap], finalizers=finalizers))
    return made


async def becomes(at: Any, test: Callable[[Plan], bool]) -> Plan:
    found: list[Plan] = []

    async def holds() -> bool:
        found[:] = [await at.client.get(Plan, "p", at.namespace)]
        return test(found[0])

    await eventually(holds)
    return found[0]


async def parts(at: Any) -> set[str]:
    found = await at.client.list(ConfigMap, at.namespace)
    return {c.metadata.name for c in found if c.metadata.name.startswith("part-")}


def ready(plan: Plan) -> str:
    found = find(plan.status.conditions, "Ready")
    return found.reason if found is not None else ""


async def test_an_operator_brings_objects_to_their_state(place: Places) -> None:
    async with place() as at, defined(at), manager(at).running():
        metadata = ObjectMeta(name="p", namespace=at.namespace)
        await at.client.create(Plan(metadata=metadata, spec=PlanSpec(parts=("a", "b"))))
        plan = await becomes(at, lambda p: p.status.parts == 2)
        assert ready(plan) == "Reconciled"
        assert plan.status.observed_generation == plan.metadata.generation == 1
        await at.client.update(replace(plan, spec=PlanSpec(parts=("b", "c", "d"))))
        plan = await becomes(at, lambda p: p.status.parts == 3)
        assert await parts(at) == {"part-b", "part-c", "part-d"}
        await at.client.update(replace(plan, spec=PlanSpec(parts=("bad",))))
        await becomes(at, lambda p: ready(p) == "BadPart")
        await at.client.delete(Plan, "p", at.namespace)

        async def gone() -> bool:
            with contextlib.suppress(NotFound):
                await at.client.get(Plan, "p", at.namespace)
                return False
            return True

        await eventually(gone)
        assert await parts(at) == set(), "the finalizer cleaned up"


async def test_resting_objects_are_left_alone(place: Places) -> None:
    async with place() as at, defined(at):
        metadata = ObjectMeta(name="p", namespace=at.namespace)
        await at.client.create(Plan(metadata=metadata, spec=PlanSpec(parts=("a",))))
        async with manager(at).running():
            first = await becomes(at, lambda p: p.status.parts == 1)
        second = manager(at)
        async with second.running():
            await eventually(lambda: bool(second.journals[0].recent()))
            writes = second.metrics.registry.get_value("quarterdeck_writes_total", "plan")
        assert writes == 0
        again = await at.client.get(Plan, "p", at.namespace)
        assert again.resource_version == first.resource_version


async def test_lists_and_streaming_lists_fill_the_same_cache(place: Places) -> None:
    async with place() as at, defined(at):
        for number in range(7):
            metadata = ObjectMeta(name=f"p{number}", namespace=at.namespace)
            await at.client.create(Plan(metadata=metadata))
        held = []
        for settings in (WatchSettings(), WatchSettings(watch_list=False, page_size=3)):
            running = Manager(
                at.client,
                namespaces=[at.namespace],
                events="off",
                watch=settings,
                graceful_shutdown_timeout_s=1,
            )
            cache = running.informers.ensure(Plan).cache
            async with running.running():
                held.append({key: cache.get(key) for key in cache})
        assert {key: _version(plan) for key, plan in held[0].items()} == {
            key: _version(plan) for key, plan in held[1].items()
        }
        listed = await at.client.list(Plan, at.namespace, ListOptions())
        assert {plan.key for plan in listed} == set(held[0])


def _version(plan: Plan | None) -> str:
    return plan.resource_version if plan is not None else ""


async def test_a_lease_passes_from_one_to_the_next(place: Places) -> None:
    async with place() as at:
        for identity, transitions in (("one", 0), ("two", 1)):
            election = LeaderElection("lock", at.namespace, identity=identity)
            clock = VirtualClock()  # no lease runs out, however slow the machine is
            candidate = Manager(at.client, election=election, clock=clock, events="off")
            async with candidate.running():
                await candidate.wait_elected()
                lease = await at.client.get(Lease, "lock", at.namespace)
                assert lease.spec.holder_identity == identity
                assert lease.spec.lease_transitions == transitions
            lease = await at.client.get(Lease, "lock", at.namespace)
            assert not lease.spec.holder_identity, "released at the end"
