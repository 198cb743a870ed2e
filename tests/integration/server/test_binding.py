"""Bindings: a scheduler of one's own assigns pods to nodes, each once."""

from typing import Any

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def build_binding(node: str, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", **metadata},
        "target": {"kind": "Node", "name": node},
    }


async def test_pod_is_assigned_once(serving: Any) -> None:
    async with serving() as api:
        await api("POST", PODS, POD)
        dry = await api("POST", f"{PODS}/p/binding?dryRun=All", build_binding("n1"))
        assert dry.status == 201
        assert "nodeName" not in (await api("GET", f"{PODS}/p")).body["spec"]
        bound = await api("POST", f"{PODS}/p/binding", build_binding("n1"))
        assert (bound.status, bound.body["status"]) == (201, "Success")
        pod = (await api("GET", f"{PODS}/p")).body
        assert pod["spec"]["nodeName"] == "n1"
        scheduled = [e for e in pod["status"]["conditions"] if e["type"] == "PodScheduled"]
        assert [each["status"] for each in scheduled] == ["True"]
        again = await api("POST", f"{PODS}/p/binding", build_binding("n2"))
        assert again.status == 409
        assert 'already assigned to node "n1"' in again.message


async def test_bindings_that_make_no_sense_are_refused(serving: Any) -> None:
    async with serving() as api:
        await api("POST", PODS, POD)
        assert (await api("POST", f"{PODS}/none/binding", build_binding("n"))).status in (400, 404)
        assert (await api("POST", f"{PODS}/p/binding", build_binding(""))).status == 500
        other = await api("POST", f"{PODS}/p/binding", build_binding("n", uid="another"))
        assert other.status == 409
