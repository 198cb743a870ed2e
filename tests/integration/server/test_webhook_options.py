"""Webhooks are told the options of a write, in the order in which Kubernetes asks them."""

from typing import Any

import pytest
from webhook_questions import asked

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}


@pytest.mark.parametrize(
    ("method", "query", "body", "media", "expected"),
    [
        pytest.param(
            "DELETE",
            "/a?gracePeriodSeconds=3&propagationPolicy=Background",
            None,
            "",
            {"kind": "DeleteOptions", "gracePeriodSeconds": 3, "propagationPolicy": "Background"},
            id="deletion with a query",
        ),
        pytest.param(
            "DELETE",
            "/a?dryRun=All",
            None,
            "",
            {"kind": "DeleteOptions", "dryRun": ["All"]},
            id="deletion in dry run",
        ),
        pytest.param(
            "DELETE",
            "/a",
            {"propagationPolicy": "Foreground", "gracePeriodSeconds": 5},
            "application/json",
            {"kind": "DeleteOptions", "gracePeriodSeconds": 5, "propagationPolicy": "Foreground"},
            id="deletion with a body",
        ),
        pytest.param(
            "POST",
            "?fieldManager=m&fieldValidation=Strict",
            {"metadata": {"name": "new"}},
            "application/json",
            {"kind": "CreateOptions", "fieldManager": "m", "fieldValidation": "Strict"},
            id="creation",
        ),
        pytest.param(
            "PATCH",
            "/a?fieldValidation=Warn&pretty=1",
            {"data": {"a": "b"}},
            MERGE,
            {"kind": "UpdateOptions", "fieldValidation": "Warn"},
            id="merge patch",
        ),
        pytest.param(
            "PATCH",
            "/new?fieldManager=m&force=true",
            APPLIED,
            APPLY,
            {"kind": "CreateOptions", "fieldManager": "m"},
            id="apply of a new object",
        ),
    ],
)
async def test_options_are_told_as_they_were_sent(
    serving: Any, method: str, query: str, body: Any, media: str, expected: Object
) -> None:
    async with serving() as api:
        assert (await api("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
        async with asked(api) as seen:
            answer = await api(method, MAPS + query, body, media=media or "application/json")
            assert answer.status < 300, answer.body
        told = [(who, each["options"]) for who, each in seen]
        whole = {"apiVersion": "meta.k8s.io/v1", **expected}
        assert told == [("mutating", whole), ("validating", whole)]


async def test_an_eviction_is_no_deletion_to_webhooks(serving: Any) -> None:
    containers = [{"name": "c", "image": "i"}]
    async with serving() as api:
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
        assert (await api("POST", PODS, pod)).status == 201
        async with asked(api) as seen:
            body = {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}}
            assert (await api("POST", f"{PODS}/p/eviction", body)).status == 201
        assert (await api("GET", f"{PODS}/p")).status == 404
        told = [(each["operation"], each.get("subResource")) for _, each in seen]
        assert told == [("CREATE", "eviction")] * 2


def _show_deletions(seen: list[tuple[str, Object]]) -> list[tuple[str, Any, Any]]:
    """Who was asked about deletions, with the grace period asked for and that of the pod."""
    return [
        (
            kind,
            review["options"].get("gracePeriodSeconds"),
            review["oldObject"]["metadata"].get("deletionGracePeriodSeconds"),
        )
        for kind, review in seen
        if review["operation"] == "DELETE"
    ]


async def test_webhooks_see_a_pod_end_twice_when_it_ends_at_once(serving: Any) -> None:
    pod = {
        "metadata": {"name": "a"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }
    async with serving() as api, asked(api) as seen:
        assert (await api("POST", PODS, pod)).status == 201
        assert (await api("DELETE", f"{PODS}/a")).status == 200
        assert _show_deletions(seen) == [("mutating", 30, None), ("validating", 30, None)]
        seen.clear()
        assert (await api("DELETE", f"{PODS}/a")).status == 200
        assert seen == []
        assert (await api("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})).status == 200
        assert _show_deletions(seen) == [
            ("mutating", 0, 30),
            ("validating", 0, 30),
            ("mutating", 0, 0),
            ("validating", 0, 0),
        ]
        assert (await api("GET", f"{PODS}/a")).status == 404
