"""Endpoints of services."""

from collections.abc import Callable
from typing import Any

from quarterdeck.server.lifecycle.controllers.endpoints import ServiceEndpoints
from quarterdeck.server.lifecycle.engine.actions import Create, Delete, Update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
Look = Callable[..., View]
KEY = StoreKey("services", "n", "web")


def service(**spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "n", "uid": "s"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec},
    }


def pod(number: int, port: int = 8080, **metadata: Any) -> Object:
    ports = [{"name": "http", "containerPort": port}]
    address = f"10.0.{number // 250}.{number % 250}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"p{number:03}",
            "namespace": "n",
            "uid": str(number),
            "labels": {"app": "web"},
            **metadata,
        },
        "spec": {"containers": [{"name": "main", "ports": ports}]},
        "status": {"podIP": address, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def slices(view: View) -> list[Object]:
    return [
        action.value
        for action in ServiceEndpoints().plan(view, KEY)
        if isinstance(action, Create) and action.resource.startswith("endpointslices")
    ]


def test_named_port_is_looked_up_in_each_pod(look: Look) -> None:
    named = service(ports=[{"name": "http", "port": 80, "targetPort": "http"}])
    made = slices(look([named, pod(1, 8080), pod(2, 9090)]))
    assert [each["ports"][0]["port"] for each in made] == [8080, 9090]


def test_slices_hold_a_hundred_each(look: Look) -> None:
    made = slices(look([service(), *(pod(number) for number in range(1, 251))]))
    assert [len(each["endpoints"]) for each in made] == [100, 100, 50]


def test_pod_that_ends_is_terminating_in_slices_and_absent_from_endpoints(look: Look) -> None:
    leaving = pod(1, deletionTimestamp="2026-01-01T00:00:00Z")
    plan = ServiceEndpoints().plan(look([service(), leaving]), KEY)
    endpoints, sliced = (action.value for action in plan if isinstance(action, Create))
    assert "subsets" not in endpoints
    conditions = sliced["endpoints"][0]["conditions"]
    assert conditions == {"ready": False, "serving": True, "terminating": True}


def test_headless_service_says_so(look: Look) -> None:
    (made,) = slices(look([service(clusterIP="None"), pod(1)]))
    assert "service.kubernetes.io/headless" in made["metadata"]["labels"]


def test_services_that_somebody_else_serves_are_left_alone(look: Look) -> None:
    controller = ServiceEndpoints()
    assert not controller.plan(look([service(selector=None)]), KEY)
    assert not controller.plan(look([service(type="ExternalName")]), KEY)


def test_surplus_slices_go_and_endpoints_of_no_service_too(look: Look) -> None:
    view = look([service(), pod(1)])
    owned = [
        {**each, "metadata": {**each["metadata"], "name": f"web-{number}", "uid": str(number)}}
        for number in range(2)
        for each in slices(view)
    ]
    plan = ServiceEndpoints().plan(look([service(), pod(1), *owned]), KEY)
    assert [action.key.name for action in plan if isinstance(action, Delete)] == ["web-1"]
    left = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "n"}}
    (gone,) = ServiceEndpoints().plan(look([left]), KEY)
    assert isinstance(gone, Delete)


def test_endpoints_change_only_where_they_differ(look: Look) -> None:
    first = ServiceEndpoints().plan(look([service(), pod(1)]), KEY)
    made = [action.value for action in first if isinstance(action, Create)]
    made[1] = {**made[1], "metadata": {**made[1]["metadata"], "name": "web-a", "uid": "x"}}
    assert not ServiceEndpoints().plan(look([service(), pod(1), *made]), KEY)
    changed = ServiceEndpoints().plan(look([service(), pod(1), pod(2), *made]), KEY)
    assert [type(action) for action in changed] == [Update, Update]
