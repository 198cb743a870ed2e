"""The operator on a real server with simulated workloads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from quarterdeck.apis.applications.v1 import FINALIZER, Application, ApplicationSpec
from quarterdeck.apis.apps import Deployment
from quarterdeck.apis.batch import Job
from quarterdeck.apis.core.config import ConfigMap, ResourceQuota, ResourceQuotaSpec
from quarterdeck.apis.core.events import Event as CoreEvent
from quarterdeck.apis.core.services import Service
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client.client import Client
from quarterdeck.client.intercept import Call, Intercept, InterceptingApi
from quarterdeck.kit.clock import Clock, VirtualClock
from quarterdeck.meta.conditions import find
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.operators import applications
from quarterdeck.operators.applications import plan
from quarterdeck.operators.applications.conditions import PROGRESSING, READY
from quarterdeck.runtime import Manager
from quarterdeck.runtime.controller.rbac import UsageRecorder, build_rules, find_uncovered
from quarterdeck.server.options import ServerOptions
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import Forbidden, NotFound


@contextlib.asynccontextmanager
async def operating(*, lifecycle: bool = True, clock: Clock | None = None) -> AsyncIterator[Client]:
    """A cluster whose operator runs; whatever it used of the API must be declared."""
    options = ServerOptions(simulate_workloads=lifecycle, lifecycle=lifecycle)
    async with Cluster(options=options) as cluster:
        client = cluster.client
        await definitions.install(client.raw, [Application])
        manager = Manager(client, clock=clock)
        applications.register(manager)
        async with manager.running():
            yield client


def application(name: str = "web", **spec: Any) -> Application:
    document = {"replicas": 2, "image": "nginx:1.27", **spec}
    return Application(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=msgspec.convert(document, ApplicationSpec),
    )


async def until(
    client: Client, name: str, holds: Callable[[Any], bool], *, kind: Any = Application
) -> Any:
    """Follow an object until something holds; no polling."""
    options = ListOptions(watch=True, field_selector=f"metadata.name={name}")
    async with asyncio.timeout(240), client.watch(kind, "default", options) as events:
        async for event in events:
            if event.type != "DELETED" and holds(event.object):
                return event.object
    raise AssertionError("the watch ended")


async def gone(client: Client, kind: Any, name: str) -> None:
    options = ListOptions(watch=True, field_selector=f"metadata.name={name}")
    async with asyncio.timeout(240), client.watch(kind, "default", options) as events:
        with contextlib.suppress(NotFound):
            await client.get(kind, name, "default")
            async for event in events:
                if event.type == "DELETED":
                    return


def is_running(app: Application) -> bool:
    return app.status.phase == "Running" and app.status.observed_generation == (
        app.metadata.generation
    )


async def test_an_application_becomes_running_and_owns_its_children() -> None:
    async with operating() as client:
        await client.create(application(config={"A": "1"}, ports=[{"port": 80}]))
        app = await until(client, "web", is_running)
        assert (app.status.replicas, app.status.ready_replicas) == (2, 2)
        assert app.metadata.finalizers == (FINALIZER,)
        assert app.status.label_selector == f"{plan.LABEL}=web"
        ready = find(app.status.conditions, READY)
        assert ready is not None
        assert (ready.status, ready.reason) == ("True", "ReconciliationSucceeded")
        progressing = find(app.status.conditions, PROGRESSING)
        assert progressing is not None and progressing.status == "False"
        for kind in (Deployment, ConfigMap, Service):
            child = await client.get(kind, "web", "default")
            owner = child.metadata.owner_references[0]
            assert (owner.uid, owner.controller) == (app.metadata.uid, True)


async def test_the_first_reconcile_leaves_an_event() -> None:
    async with operating(lifecycle=False) as client:  # nothing starts: it stays Pending
        await client.create(application())
        event = await until_any(client)
        assert (event.involved_object.name, event.reason) == ("web", "ReplicasNotReady")
        assert event.message == "0 of 2 replicas are ready"


async def until_any(client: Client) -> CoreEvent:
    """The first event of the namespace."""
    async with (
        asyncio.timeout(240),
        client.watch(CoreEvent, "default", ListOptions(watch=True)) as events,
    ):
        async for event in events:
            assert isinstance(event.object, CoreEvent)
            return event.object
    raise AssertionError("the watch ended")


async def test_drift_is_repaired() -> None:
    async with operating() as client:
        await client.create(application(config={"A": "1"}))
        await until(client, "web", is_running)
        deployment = await client.get(Deployment, "web", "default")
        await client.patch(deployment, {"spec": {"replicas": 9}})
        await until(client, "web", lambda d: d.spec.replicas == 2, kind=Deployment)
        config = await client.get(ConfigMap, "web", "default")
        await client.patch(config, {"data": {"A": "changed"}})
        await until(client, "web", lambda c: c.data == {"A": "1"}, kind=ConfigMap)
        await client.delete(await client.get(Deployment, "web", "default"))
        await until(client, "web", is_running)


async def test_a_config_change_rolls_the_pods() -> None:
    async with operating() as client:
        await client.create(application(config={"A": "1"}))
        app = await until(client, "web", is_running)
        before = (await client.get(Deployment, "web", "default")).spec.template
        await client.patch(app, {"spec": {"config": {"A": "2"}}})
        await until(client, "web", lambda a: a.metadata.generation == 2 and is_running(a))
        after = (await client.get(Deployment, "web", "default")).spec.template
        assert before != after
        assert (await client.get(ConfigMap, "web", "default")).data == {"A": "2"}


async def test_scaling_goes_through_the_scale_subresource() -> None:
    async with operating() as client:
        app = await client.create(application())
        await until(client, "web", is_running)
        await client.raw.patch(
            client.resource(Application.KIND.gvr).subresource("scale").path("default", "web"),
            b'{"spec":{"replicas":4}}',
            _merge(),
        )
        scaled = await until(client, "web", lambda a: a.status.ready_replicas == 4)
        assert scaled.metadata.uid == app.metadata.uid


def _merge() -> Any:
    from quarterdeck.client.interfaces import PatchType

    return PatchType.MERGE


async def test_children_that_are_no_longer_wanted_go() -> None:
    async with operating() as client:
        await client.create(application(config={"A": "1"}, ports=[{"port": 80}]))
        app = await until(client, "web", is_running)
        await client.patch(app, {"spec": {"config": None, "ports": None}})
        await gone(client, Service, "web")
        await gone(client, ConfigMap, "web")


async def test_one_run_ends_in_succeeded() -> None:
    async with operating() as client:
        await client.create(application(replicas=1, runPolicy="Once"))
        app = await until(client, "web", lambda a: a.status.phase == "Succeeded")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.status == "True"
        jobs = await client.list(Job, "default")
        assert len(jobs) == 1
        await client.patch(app, {"spec": {"image": "other:1"}})
        await until(client, "web", lambda a: a.status.observed_generation == 2)
        await until(client, "web", lambda a: a.status.phase == "Succeeded")
        assert [j.spec.template.spec.containers[0].image for j in await client.list(Job)] == [
            "other:1"
        ]


async def test_deleting_takes_the_children_along_even_without_a_collector() -> None:
    async with operating(lifecycle=False) as client:
        app = await client.create(application(config={"A": "1"}, ports=[{"port": 80}]))
        await until(client, "web", lambda a: a.status.phase == "Pending")
        await client.delete(app)
        await gone(client, Application, "web")
        for kind in (Deployment, ConfigMap, Service):
            assert "web" not in [each.metadata.name for each in await client.list(kind, "default")]


async def test_objects_of_others_are_not_taken_over() -> None:
    async with operating() as client:
        theirs = ConfigMap(metadata=ObjectMeta(name="web", namespace="default"), data={"x": "y"})
        await client.create(theirs)
        await client.create(application(config={"A": "1"}))
        app = await until(client, "web", lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.reason == "NameTaken"
        assert "ConfigMap default/web" in ready.message
        assert (await client.get(ConfigMap, "web", "default")).data == {"x": "y"}
        await client.delete(await client.get(ConfigMap, "web", "default"))
        await client.patch(app, {"metadata": {"annotations": {"again": "1"}}})
        await until(client, "web", is_running)


async def test_a_name_that_becomes_free_is_taken_without_a_change_of_the_application() -> None:
    clock = VirtualClock()
    async with operating(clock=clock) as client:
        theirs = ConfigMap(metadata=ObjectMeta(name="web", namespace="default"), data={"x": "y"})
        await client.create(theirs)
        await client.create(application(config={"A": "1"}))
        await until(client, "web", lambda a: a.status.phase == "Failed")
        await client.delete(await client.get(ConfigMap, "web", "default"))
        running = asyncio.create_task(until(client, "web", is_running))
        for _ in range(5000):
            await clock.advance(60.0)
            if running.done():
                break
        await running


async def test_a_rolling_deployment_becomes_one_that_is_recreated_and_back() -> None:
    async with operating() as client:
        await client.create(application())
        await until(client, "web", is_running)
        for strategy in ("Recreate", "RollingUpdate", "Recreate"):
            await change_strategy(client, strategy)


async def change_strategy(client: Client, strategy: str) -> None:
    before = await client.get(Application, "web", "default")
    await client.patch(before, {"spec": {"strategy": strategy}})
    generation = before.metadata.generation + 1
    app = await until(client, "web", lambda a: a.status.observed_generation == generation)
    assert app.status.phase == "Running", app.status.conditions
    deployment = await client.get(Deployment, "web", "default")
    assert deployment.spec.strategy.type == strategy


async def test_conditions_of_others_survive() -> None:
    async with operating() as client:
        await client.create(application())
        app = await until(client, "web", is_running)
        foreign = {
            "type": "DatabaseReady",
            "status": "True",
            "reason": "ConnectionEstablished",
            "message": "Database connection successful",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        conditions = [msgspec.to_builtins(each) for each in app.status.conditions]
        await client.patch(
            app, {"status": {"conditions": [*conditions, foreign]}}, subresource="status"
        )
        await client.patch(
            await client.get(Application, "web", "default"), {"spec": {"replicas": 3}}
        )
        app = await until(client, "web", lambda a: a.status.ready_replicas == 3)
        assert {"Ready", "Progressing", "DatabaseReady"} == {c.type for c in app.status.conditions}


async def test_an_image_that_cannot_be_pulled_is_reported_and_recovers() -> None:
    async with operating() as client:
        await client.create(application(replicas=1))
        app = await until(client, "web", is_running)
        deployment = await client.get(Deployment, "web", "default")
        # drift that the operator does not own: the simulator's switch for a missing image
        fail = {"simulate.quarterdeck.dev/fail": "ErrImagePull"}
        await client.patch(deployment, {"spec": {"template": {"metadata": {"annotations": fail}}}})
        app = await until(client, "web", lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.reason == "ImagePullBackOff"
        assert "nginx:1.27" in ready.message
        deployment = await client.get(Deployment, "web", "default")
        off = {"simulate.quarterdeck.dev/fail": None}
        await client.patch(deployment, {"spec": {"template": {"metadata": {"annotations": off}}}})
        await until(client, "web", is_running)


async def test_a_service_that_cannot_be_named_is_explained() -> None:
    async with operating() as client:
        await client.create(application("my.app", ports=[{"port": 80}]))
        app = await until(client, "my.app", lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.reason == "InvalidName"
        fixed = replace(app, spec=msgspec.structs.replace(app.spec, ports=()))
        await client.update(fixed)
        await until(client, "my.app", is_running)


async def test_the_operator_uses_no_permission_it_does_not_declare() -> None:
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        client = Client(cluster.client.config)
        recorder = UsageRecorder()
        async with client:
            await definitions.install(cluster.client.raw, [Application])
            client.raw.observe(recorder)
            manager = Manager(client)
            applications.register(manager)
            async with manager.running():
                app = await cluster.client.create(application(ports=[{"port": 80}]))
                await until(cluster.client, "web", is_running)
                await cluster.client.delete(app)
                await gone(cluster.client, Application, "web")
    assert find_uncovered(recorder.uses, build_rules([applications.build_controller()])) == []


async def test_the_loop_rests_when_everything_is_as_it_should_be() -> None:
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        client = cluster.client
        await definitions.install(client.raw, [Application])
        manager = Manager(client)
        applications.register(manager, workers=1)
        async with manager.running():
            app = await client.create(application())
            app = await until(client, "web", is_running)
            await client.patch(app, {"metadata": {"labels": {"touched": "yes"}}})
            await client.create(application("later"))
            await until(client, "later", is_running)  # one worker: the first is done by now
            last = manager.journals[0].of(app.key)[0]
            assert {write.verb for write in last.writes} <= {"skipped"}


async def test_no_update_is_lost_while_a_reconcile_runs() -> None:
    async with operating() as client:
        app = await client.create(application())
        for number in range(20):
            app = await client.patch(app, {"spec": {"image": f"nginx:{number}"}})
        app = await until(client, "web", lambda a: a.metadata.generation == 21 and is_running(a))
        deployment = await client.get(Deployment, "web", "default")
        assert deployment.spec.template.spec.containers[0].image == "nginx:19"


@contextlib.asynccontextmanager
async def failing(verb: str, resource: str, times: int) -> AsyncIterator[Client]:
    """A cluster whose operator is refused the first few calls of one kind."""

    async def refuse(call: Call) -> Any:
        raise Forbidden(f"{call.path.resource} are not for you today")

    intercept = Intercept(verb, refuse, resource=resource, times=times)
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        client = cluster.client
        await definitions.install(client.raw, [Application])
        manager = Manager(Client.from_api(InterceptingApi(client.raw, [intercept]), client.config))
        applications.register(manager)
        async with manager.running():
            yield client


async def test_a_refused_child_is_reported_with_an_event_and_tried_again() -> None:
    async with failing("patch", "deployments", 3) as client:
        await client.create(application())
        app = await until(client, "web", lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", "ReconciliationFailed")
        assert "not for you today" in ready.message
        await until(client, "web", is_running)
        events = [e for e in await client.list(CoreEvent, "default") if e.type == "Warning"]
        assert "ReconciliationFailed" in [event.reason for event in events]


async def test_a_cleanup_that_fails_is_tried_again() -> None:
    async with failing("delete", "deployments", 3) as client:
        app = await client.create(application())
        await until(client, "web", is_running)
        await client.delete(app)
        await gone(client, Application, "web")
        assert await client.list(Deployment, "default") == []


async def test_a_quota_that_is_too_small_is_named() -> None:
    async with operating() as client:
        quota = ResourceQuota(
            metadata=ObjectMeta(name="small", namespace="default"),
            spec=ResourceQuotaSpec(hard={"pods": "1"}),
        )
        await client.create(quota)
        await client.create(application(replicas=3))
        app = await until(client, "web", lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.reason == "QuotaExceeded"
        assert "small" in ready.message


async def test_a_container_that_keeps_crashing_is_named() -> None:
    async with operating() as client:
        await client.create(application(replicas=1))
        await until(client, "web", is_running)
        deployment = await client.get(Deployment, "web", "default")
        fail = {"simulate.quarterdeck.dev/fail": "CrashLoopBackOff"}
        await client.patch(deployment, {"spec": {"template": {"metadata": {"annotations": fail}}}})
        app = await until(client, "web", lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.reason == "CrashLoopBackOff"


async def test_a_problem_of_an_application_with_a_long_name_is_reported() -> None:
    """The label of its pods has a shortened name."""
    name = "web." + "a" * 70
    async with operating() as client:
        await client.create(application(name, replicas=1))
        await until(client, name, is_running)
        deployment = await client.get(Deployment, name, "default")
        fail = {"simulate.quarterdeck.dev/fail": "CrashLoopBackOff"}
        await client.patch(deployment, {"spec": {"template": {"metadata": {"annotations": fail}}}})
        app = await until(client, name, lambda a: a.status.phase == "Failed")
        ready = find(app.status.conditions, READY)
        assert ready is not None and ready.reason == "CrashLoopBackOff"
