"""Controllers against our API server: outcomes, status, children, finalizers, waiting."""

import asyncio
import contextlib
import random
from typing import Any

import pytest
from widget_world import CRDS, Widget, WidgetSpec, World, is_served, reason, world

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, load_config
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit import http, json
from quarterdeck.meta import crd
from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.meta.identity import GVR, Key
from quarterdeck.meta.objects import ObjectMeta, replace, with_metadata
from quarterdeck.operators.experiments.foreign import ArgoApplication
from quarterdeck.runtime import (
    BindAddress,
    Context,
    Controller,
    Finalizer,
    Manager,
    RequeueAfter,
    Result,
    Stalled,
    WaitFor,
    Waiting,
    Watch,
)
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import Conflict, NotFound


async def count_size(widget: Widget, ctx: Context[Widget]) -> None:
    ctx.status.set(seen=widget.spec.size)


async def test_status_follows_the_spec_with_one_write_each() -> None:
    async with world() as at:
        manager = at.manager(Controller(reconcile=count_size, for_=Widget))
        async with manager.running():
            await at.create(size=3)
            widget = await at.becomes(lambda w: w.status.seen == 3)
            assert widget.status.observed_generation == widget.metadata.generation == 1
            assert reason(widget) == "Reconciled"
            await at.resize(4)
            widget = await at.becomes(lambda w: w.status.seen == 4)
            await manager.informers.wait_for_cache_sync()
            value = manager.metrics.registry.get_value
            assert value("quarterdeck_writes_total", "widget") == 2
            assert value("controller_runtime_reconcile_total", "widget", "success") == 2


async def test_a_second_reconcile_without_a_change_writes_nothing() -> None:
    async with world() as at:
        await at.create(size=3)
        for round_ in range(2):
            manager = at.manager(Controller(reconcile=count_size, for_=Widget))
            async with manager.running():
                await eventually(lambda m=manager: m.journals[0].recent() != [])  # type: ignore[misc]
                value = manager.metrics.registry.get_value
                assert value("quarterdeck_writes_total", "widget") == (1 if round_ == 0 else 0)


async def test_foreign_conditions_survive() -> None:
    async with world() as at:
        await at.create()
        foreign = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "a", "namespace": "default"},
            "status": {
                "conditions": [
                    {
                        "type": "Inspected",
                        "status": "True",
                        "reason": "Fine",
                        "message": "",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ]
            },
        }
        path = ResourcePath("example.com", "v1", "widgets", "default", "a", "status")
        options = PatchOptions(field_manager="inspector")
        await at.client.raw.patch(path, json.encode(foreign), PatchType.APPLY, options)
        async with at.manager(Controller(reconcile=count_size, for_=Widget)).running():
            widget = await at.becomes(lambda w: w.status.seen == 1)
            assert {c.type for c in widget.status.conditions} == {"Inspected", "Ready"}


async def test_stalled_waits_for_the_author_and_waiting_comes_back() -> None:
    attempts: list[int] = []

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        attempts.append(widget.spec.size)
        if widget.spec.size > 5:
            raise Stalled("TooLarge", "size must be at most 5")
        if len(attempts) < 3:
            raise Waiting("NotYet", "the stars are wrong", after_s=0.01)

    async with world() as at, at.manager(Controller(reconcile=reconcile, for_=Widget)).running():
        await at.create(size=9)
        widget = await at.becomes(lambda w: reason(w) == "TooLarge")
        condition = find(widget.status.conditions, "Ready")
        assert condition is not None
        assert condition.status == FALSE
        assert condition.message == "size must be at most 5"
        assert attempts == [9]
        await at.resize(1)
        await at.becomes(lambda w: reason(w) == "Reconciled")
        assert attempts == [9, 1, 1]


async def test_a_crash_is_isolated_reported_and_retried() -> None:
    failures = 2

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        nonlocal failures
        if widget.metadata.name == "bad" and failures:
            failures -= 1
            raise RuntimeError("token=hunter2 exploded")
        ctx.status.set(seen=1)

    async with world() as at:
        manager = at.manager(Controller(reconcile=reconcile, for_=Widget))
        async with manager.running():
            await at.create("bad")
            await at.create("good")
            await at.becomes(lambda w: w.status.seen == 1, "good")
            await at.becomes(lambda w: w.status.seen == 1, "bad")
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_errors_total", "widget") == 2
            detail = " ".join(record.detail for record in manager.journals[0].recent())
            assert "exploded" in detail
            assert "hunter2" not in detail


async def test_a_reconcile_over_its_time_limit_is_cut_and_counted() -> None:
    calls = 0

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()

    async with world() as at:
        manager = at.manager(Controller(reconcile=reconcile, for_=Widget, reconcile_timeout_s=0.05))
        async with manager.running():
            await at.create()
            await at.becomes(lambda w: reason(w) == "Reconciled")
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_timeouts_total", "widget") == 1


async def test_requeue_after_comes_back_by_itself() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> Result | None:
        ctx.status.set(seen=widget.status.seen + 1)
        return RequeueAfter(0.01) if widget.status.seen < 3 else None

    async with world() as at, at.manager(Controller(reconcile=reconcile, for_=Widget)).running():
        await at.create()
        await at.becomes(lambda w: w.status.seen == 4)


async def parts(widget: Widget, ctx: Context[Widget]) -> None:
    await ctx.apply_all(
        [ConfigMap(metadata=ObjectMeta(name=f"part-{part}")) for part in widget.spec.parts],
        prune=[ConfigMap],
    )
    assert {c.metadata.name for c in await ctx.list_owned(ConfigMap)} == {
        f"part-{part}" for part in widget.spec.parts
    }, "reads after writes see the writes"
    ctx.status.set(seen=len(widget.spec.parts))


async def test_children_are_applied_pruned_and_restored() -> None:
    async with world() as at:
        controller = Controller(reconcile=parts, for_=Widget, owns=[ConfigMap])
        manager = at.manager(controller)
        async with manager.running():
            await at.create(parts=("x", "y"))
            await at.becomes(lambda w: w.status.seen == 2)
            widget = await at.get()
            await at.client.update(replace(widget, spec=WidgetSpec(parts=("y", "z"))))

            async def pruned() -> bool:
                found = await at.client.list(ConfigMap, "default")
                names = {c.metadata.name for c in found}
                return {"part-y", "part-z"} <= names and "part-x" not in names

            await eventually(pruned)
            child = await at.client.get(ConfigMap, "part-z", "default")
            assert child.metadata.owner_references[0].name == "a"
            await at.client.delete(ConfigMap, "part-z", "default")
            await eventually(lambda: _exists(at.client, "part-z"))
            errors = manager.metrics.registry.get_value(
                "controller_runtime_reconcile_errors_total", "widget"
            )
            assert errors == 0


async def test_manifests_are_applied_as_dictionaries() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        manifest = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "closed"},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
        }
        applied = await ctx.apply(manifest)
        for wrong in ({"kind": "Pod"}, {"apiVersion": "v1", "kind": "Pod", "metadata": {}}):
            with pytest.raises(ValueError, match="without"):
                await ctx.apply(wrong)
        ctx.status.set(seen=len(applied["metadata"]["ownerReferences"]))

    controller = Controller(reconcile=reconcile, for_=Widget)
    async with world() as at, at.manager(controller).running():
        await at.create()
        await at.becomes(lambda w: w.status.seen == 1)


async def _exists(client: Client, name: str) -> bool:
    try:
        await client.get(ConfigMap, name, "default")
    except NotFound:
        return False
    return True


async def test_own_child_writes_do_not_wake_the_writer() -> None:
    async with world() as at:
        manager = at.manager(Controller(reconcile=parts, for_=Widget, owns=[ConfigMap]))
        async with manager.running():
            await at.create(parts=("x", "y", "z"))
            await at.becomes(lambda w: w.status.seen == 3)
            value = manager.metrics.registry.get_value

            def done() -> float:
                return value("controller_runtime_reconcile_total", "widget", "success")

            await eventually(lambda: value("quarterdeck_own_events_total", "widget") >= 3)
            await eventually(lambda: done() > 0)
            assert done() == 1


async def test_finalizers_run_in_order_and_let_go() -> None:
    log: list[str] = []

    async def first(widget: Widget, ctx: Context[Widget]) -> None:
        log.append("first")
        if log.count("first") < 2:
            raise Waiting("Busy", after_s=0.01)

    async def second(widget: Widget, ctx: Context[Widget]) -> None:
        log.append("second")

    controller = Controller(
        reconcile=count_size,
        for_=Widget,
        finalizers=[Finalizer("example.com/first", first), Finalizer("example.com/second", second)],
    )
    async with world() as at, at.manager(controller).running():
        await at.create()
        widget = await at.becomes(lambda w: w.status.seen == 1)
        assert widget.metadata.finalizers == ("example.com/first", "example.com/second")
        await at.client.delete(Widget, "a", "default")

        async def gone() -> bool:
            with contextlib.suppress(NotFound):
                await at.get()
                return False
            return True

        await eventually(gone)
        assert log == ["first", "first", "second"]


async def test_wait_for_wakes_by_the_event_of_another_object() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> Result | None:
        settings = await ctx.find(ConfigMap, "settings")
        if settings is None:
            key = Key("default", "settings")
            return WaitFor(ConfigMap, key, until=lambda found: found is not None)
        ctx.status.set(seen=int(settings.data["size"]))
        return None

    controller = Controller(reconcile=reconcile, for_=Widget, reads=[ConfigMap])
    async with world() as at, at.manager(controller).running():
        await at.create()
        await at.becomes(lambda w: reason(w) == "Waiting")
        metadata = ObjectMeta(name="settings", namespace="default")
        await at.client.create(ConfigMap(metadata=metadata, data={"size": "7"}))
        await at.becomes(lambda w: w.status.seen == 7)


async def test_watches_map_changes_of_other_kinds() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        shared = await ctx.find(ConfigMap, "shared")
        ctx.status.set(seen=int(shared.data["size"]) if shared else 0)

    def everybody(config: ConfigMap, lister: Any) -> list[Key]:
        if config.metadata.name != "shared":
            return []
        return [widget.key for widget in lister.list(Widget)]

    controller = Controller(
        reconcile=reconcile, for_=Widget, watches=[Watch(ConfigMap, to=everybody)]
    )
    async with world() as at, at.manager(controller).running():
        await at.create("a")
        await at.create("b")
        await at.becomes(lambda w: reason(w) == "Reconciled", "b")
        metadata = ObjectMeta(name="shared", namespace="default")
        await at.client.create(ConfigMap(metadata=metadata, data={"size": "9"}))
        await at.becomes(lambda w: w.status.seen == 9, "a")
        await at.becomes(lambda w: w.status.seen == 9, "b")


async def test_conditions_of_ones_own_and_events_reach_the_server() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        ctx.status.set_condition("Painted", TRUE, "Red", "all of it")
        ctx.event("Painted", "painted red, token=abc")

    controller = Controller(reconcile=reconcile, for_=Widget, ready=None, conditions=["Painted"])
    async with world() as at, at.manager(controller).running():
        await at.create()
        widget = await at.becomes(lambda w: reason(w, "Painted") == "Red")
        assert [c.type for c in widget.status.conditions] == ["Painted"]
        events = at.client.resource(GVR("", "v1", "events"))

        async def is_recorded() -> bool:
            found = await events.list("default")
            return [event["message"] for event in found] == ["painted red, token=***"]

        await eventually(is_recorded)


async def test_objects_deleted_and_recreated_under_one_name_are_two_objects() -> None:
    gone: list[Key] = []

    async def forget(key: Key) -> None:
        gone.append(key)

    controller = Controller(reconcile=count_size, for_=Widget, on_deleted=forget)
    async with world() as at, at.manager(controller).running():
        await at.create(size=1)
        await at.becomes(lambda w: w.status.seen == 1)
        await at.client.delete(Widget, "a", "default")
        await eventually(lambda: gone == [Key("default", "a")])
        await at.create(size=2)
        await at.becomes(lambda w: w.status.seen == 2)


async def test_a_kind_whose_definition_comes_later_is_picked_up() -> None:
    async with Cluster() as cluster, Client(load_config(cluster.kubeconfig)) as client:
        manager = Manager(client, name="early")
        manager.add(Controller(reconcile=count_size, for_=Widget))
        async with manager.running():  # does not wait for what is absent
            at = World(client)
            await client.resource(CRDS).create(crd.build_manifest([Widget]))
            await eventually(lambda: is_served(client))
            await at.create(size=5)
            await at.becomes(lambda w: w.status.seen == 5)
            await client.resource(CRDS).delete("widgets.example.com")
            await eventually(lambda: len(manager.informers.ensure(Widget).cache) == 0)


async def test_a_missing_definition_is_named_in_log_and_readiness_until_it_appears(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Cluster() as cluster, Client(load_config(cluster.kubeconfig)) as client:
        manager = Manager(client, name="early", health=BindAddress())
        manager.add(Controller(reconcile=count_size, for_=Widget))
        async with manager.running():
            [line] = [each for each in caplog.records if "not served" in each.getMessage()]
            told = line.__dict__["fields"]
            assert told["kind"] == "widgets.example.com"
            assert "CRD widgets.example.com (version v1) is not installed" in told["reason"]
            assert f"quarterdeck crds {Widget.__module__}:Widget | kubectl apply" in told["reason"]
            status, body = await _read(manager.health_url + "/readyz")
            assert status == 500
            assert told["reason"] in body
            await client.resource(CRDS).create(crd.build_manifest([Widget]))
            await eventually(lambda: is_served(client))
            at = World(client)
            await at.create(size=5)
            await at.becomes(lambda w: w.status.seen == 5)
            assert (await _read(manager.health_url + "/readyz"))[0] == 200
            assert len([r for r in caplog.records if "not served" in r.getMessage()]) == 1


async def test_a_missing_foreign_kind_is_named_in_log_and_verbose_readiness(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Cluster() as cluster, Client(load_config(cluster.kubeconfig)) as client:
        await client.resource(CRDS).create(crd.build_manifest([Widget]))
        await eventually(lambda: is_served(client))
        manager = Manager(client, name="early", health=BindAddress())
        manager.add(Controller(reconcile=count_size, for_=Widget, owns=(ArgoApplication,)))
        async with manager.running():
            [line] = [each for each in caplog.records if "not served" in each.getMessage()]
            reason = line.__dict__["fields"]["reason"]
            assert "install the product that provides argoproj.io" in reason
            status, body = await _read(manager.health_url + "/readyz?verbose")
            assert status == 200, "an operator may use foreign kinds where they exist"
            assert f"[+]kinds ok ({reason})" in body


async def _read(url: str) -> tuple[int, str]:
    async with http.Client() as pages:
        answer = await pages.request("GET", url)
        return answer.status, (await answer.read()).decode()


async def test_two_controllers_need_two_names() -> None:
    async with world() as at:
        manager = at.manager(Controller(reconcile=count_size, for_=Widget))
        with pytest.raises(ValueError, match="widget"):
            manager.add(Controller(reconcile=count_size, for_=Widget))
        manager.add(Controller(reconcile=count_size, for_=Widget, name="second"))


async def test_a_child_elsewhere_cannot_be_owned() -> None:
    problems: list[str] = []

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        try:
            await ctx.apply(ConfigMap(metadata=ObjectMeta(name="x", namespace="kube-system")))
        except ValueError as error:
            problems.append(str(error))

    async with world() as at, at.manager(Controller(reconcile=reconcile, for_=Widget)).running():
        await at.create()
        await at.becomes(lambda w: reason(w) == "Reconciled")
        assert "owned=False" in problems[0]


async def test_updates_send_only_the_difference_with_a_precondition() -> None:
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        if "touched" not in widget.metadata.labels:
            await ctx.update(
                with_metadata(widget, labels={**widget.metadata.labels, "touched": "yes"})
            )

    async with world() as at, at.manager(Controller(reconcile=reconcile, for_=Widget)).running():
        await at.create()
        widget = await at.becomes(lambda w: w.metadata.labels.get("touched") == "yes")
        assert widget.spec.size == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_storm_of_changes_ends_in_the_last_state(seed: int) -> None:
    rng = random.Random(seed)

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        seen = await ctx.get(Widget, widget.metadata.name)
        assert int(seen.metadata.resource_version) >= int(widget.metadata.resource_version)
        child = ConfigMap(metadata=ObjectMeta(name=f"size-{widget.metadata.name}"))
        child = replace(child, data={"size": str(widget.spec.size)})
        written = await ctx.apply(child)
        read = await ctx.get(ConfigMap, written.metadata.name)
        assert int(read.metadata.resource_version) >= int(written.metadata.resource_version)
        ctx.status.set(seen=widget.spec.size)

    controller = Controller(reconcile=reconcile, for_=Widget, owns=[ConfigMap], workers=8)
    async with world() as at:
        manager = at.manager(controller, events="off")
        async with manager.running():
            names = [f"w{number}" for number in range(12)]
            await asyncio.gather(*(at.create(name, size=1) for name in names))

            async def change(name: str) -> None:
                for _ in range(8):
                    await asyncio.sleep(rng.random() * 0.01)
                    with contextlib.suppress(Conflict):
                        await at.resize(rng.randint(1, 1000), name)

            await asyncio.gather(*(change(name) for name in names))
            for name in names:
                await at.becomes(lambda w: w.status.seen == w.spec.size, name)
                widget = await at.get(name)
                child = await at.client.get(ConfigMap, f"size-{name}", "default")
                assert child.data["size"] == str(widget.spec.size)
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_panics_total", "widget") == 0
