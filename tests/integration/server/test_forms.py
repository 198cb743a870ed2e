"""Other forms of bodies and answers, and the paths that are no resources."""

from typing import Any

import pytest

from quarterdeck.kit import yaml

MAPS = "/api/v1/namespaces/default/configmaps"
YAML = "application/yaml"


async def test_yaml_goes_in_and_comes_out(serving: Any) -> None:
    async with serving() as api:
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: 'yes'\n"
        made = await api("POST", MAPS, body, media=YAML, accept=YAML)
        assert made.status == 201
        assert made.headers.get("content-type") == YAML
        assert yaml.load(made.body)["data"] == {"k": "yes"}
        listed = await api("GET", MAPS, accept=YAML)
        assert [item["metadata"]["name"] for item in yaml.load(listed.body)["items"]] == ["a"]
        broken = await api("POST", MAPS, b"a: [", media=YAML)
        assert broken.status == 400


async def test_pretty_responses_are_indented(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        url = f"{api.cluster.url}{MAPS}/a"
        plain = await (await api.client.request("GET", url)).read()
        pretty = await (await api.client.request("GET", f"{url}?pretty=true")).read()
        again = await (await api.client.request("GET", f"{url}?pretty=false")).read()
        assert plain.count(b"\n") == 1
        assert pretty.count(b"\n") > 5
        assert again == plain


async def test_writes_may_answer_as_metadata(serving: Any) -> None:
    async with serving() as api:
        accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        made = await api(
            "POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}, accept=accept
        )
        assert (made.status, made.body["kind"]) == (201, "PartialObjectMetadata")
        assert "data" not in made.body


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/livez", 200),
        ("/readyz/storage", 200),
        ("/readyz/nope", 404),
        ("/version/", 200),
        ("/api/", 200),
        ("/apis/", 200),
        ("/apis/apps", 200),
        ("/apis/nope", 404),
        ("/apis/apps/v9", 404),
        ("/metrics", 200),
    ],
)
async def test_paths_without_resources_get_their_status(
    serving: Any, path: str, status: int
) -> None:
    async with serving() as api:
        assert (await api("GET", path)).status == status


async def test_group_document_names_its_versions(serving: Any) -> None:
    async with serving() as api:
        group = (await api("GET", "/apis/autoscaling")).body
        assert group["kind"] == "APIGroup"
        assert [each["version"] for each in group["versions"]] == ["v2", "v1"]


async def test_unserved_subresource_says_so(serving: Any) -> None:
    async with serving() as api:
        pods = "/api/v1/namespaces/default/pods"
        await api.make("n", "/api/v1/nodes")
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        await api.make("p", pods, spec=spec)
        answer = await api("GET", f"{pods}/p/attach")
        assert answer.status == 404
        assert "runs no containers" in answer.message


async def test_eviction_deletes_the_pod(serving: Any) -> None:
    async with serving() as api:
        pods = "/api/v1/namespaces/default/pods"
        await api.make("p", pods, spec={"containers": [{"name": "c", "image": "i"}]})
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        assert (await api("POST", f"{pods}/p/eviction", body)).status == 201
        assert (await api("GET", f"{pods}/p")).status == 404


@pytest.mark.parametrize(
    ("kind", "spec", "status"),
    [
        pytest.param(
            "selfsubjectaccessreviews",
            {"resourceAttributes": {"verb": "get", "resource": "pods"}},
            {"allowed": True},
            id="may I",
        ),
        pytest.param(
            "subjectaccessreviews",
            {"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
            {"allowed": False},
            id="may Bob",
        ),
        pytest.param("subjectaccessreviews", {"resourceAttributes": {}}, None, id="nobody"),
        pytest.param("selfsubjectaccessreviews", {}, None, id="nothing"),
    ],
)
async def test_access_reviews_return_a_decision(
    serving: Any, kind: str, spec: Any, status: Any
) -> None:
    async with serving() as api:
        answer = await api("POST", f"/apis/authorization.k8s.io/v1/{kind}", {"spec": spec})
        if status is None:
            assert answer.status == 422
        else:
            assert (answer.status, answer.body["status"]) == (201, status)


async def test_a_token_review_does_not_authenticate_an_unknown_token(serving: Any) -> None:
    async with serving() as api:
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        answer = await api("POST", path, {"spec": {"token": "nope"}})
        assert answer.status == 201
        assert not answer.body["status"].get("authenticated")


async def test_rules_review_lists_the_rights_of_an_administrator(serving: Any) -> None:
    async with serving() as api:
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        answer = await api("POST", path, {"spec": {"namespace": "default"}})
        assert answer.body["status"]["resourceRules"][0]["verbs"] == ["*"]


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [
        pytest.param("PUT", {"metadata": {"name": "w"}, "spec": {"replicas": 5}}, 200, id="put"),
        pytest.param("PATCH", {"spec": {"replicas": 5}}, 200, id="patch"),
        pytest.param("PATCH", {"spec": {"replicas": -1}}, 422, id="negative"),
        pytest.param("PATCH", {"spec": {"replicas": "x"}}, 422, id="a text"),
        pytest.param("PATCH", {"metadata": {"resourceVersion": "1"}}, 409, id="stale"),
        pytest.param("PATCH", {"metadata": {"name": "other"}}, 400, id="another name"),
    ],
)
async def test_the_scale_of_a_deployment_is_read_and_written(
    serving: Any, method: str, body: Any, status: int
) -> None:
    async with serving() as api:
        path = "/apis/apps/v1/namespaces/default/deployments"
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        await api.make("w", path, spec=spec)
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await api(method, f"{path}/w/scale", body, media=media)
        assert answer.status == status, answer
        expected = 5 if status == 200 else 2
        assert (await api("GET", f"{path}/w/scale")).body["spec"] == {"replicas": expected}
