"""Differences from kube-apiserver 1.32 that random requests to both found."""

from typing import Any

import pytest
from tests.integration.server.conftest import CONFIG_MAPS, WIDGETS, Serving

from quarterdeck.server.options import (
    AGGREGATED_DISCOVERY,
    ServerOptions,
    is_switched_off,
    parse_feature_gates,
)

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
TWICE = b'metadata: {name: yy}\ndata:\n  a: "1"\n  a: "2"\n'
LINE = 'line 4: key "a" already set in map'
WIDGET = '{"kind":"Widget","apiVersion":"stable.example.com/v1","metadata":{"name":"w"},"spec":%s}'


@pytest.mark.parametrize("validation", ["Ignore", "Warn"])
async def test_the_last_of_equal_yaml_keys_counts(serving: Serving, validation: str) -> None:
    async with serving() as api:
        path = f"{CONFIG_MAPS}?fieldValidation={validation}"
        answer = await api("POST", path, TWICE, media="application/yaml")
        assert (answer.status, answer.body["data"]) == (201, {"a": "2"})


async def test_equal_yaml_keys_are_refused_when_validation_is_strict(serving: Serving) -> None:
    async with serving() as api:
        path = f"{CONFIG_MAPS}?fieldValidation=Strict"
        answer = await api("POST", path, TWICE, media="application/yaml")
        assert (answer.status, LINE in answer.message) == (400, True)


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"yy"},"data":{"a":"1","a":"2"}}',
        b"kind: ConfigMap\napiVersion: v1\n" + TWICE,
    ],
    ids=["JSON", "YAML"],
)
async def test_equal_keys_are_refused_by_a_strict_apply(serving: Serving, body: bytes) -> None:
    async with serving() as api:
        path = f"{CONFIG_MAPS}/yy?fieldManager=me"
        strict = await api("PATCH", f"{path}&fieldValidation=Strict", body, media=APPLY)
        assert (strict.status, 'key "a" already set in map' in strict.message) == (400, True)
        answer = await api("PATCH", path, body, media=APPLY)
        assert (answer.status, answer.body["data"]) == (201, {"a": "2"})


async def test_integers_beyond_64_bits_are_no_integers(serving: Serving) -> None:
    async with serving() as api:
        properties = {"i": {"type": "integer"}, "n": {"type": "number"}}
        await api.define_widgets(type="object", properties=properties)
        large = 2**64
        answer = await api("POST", WIDGETS, (WIDGET % f'{{"i":{large}}}').encode())
        assert (answer.status, "must be of type integer" in answer.message) == (422, True)
        answer = await api("POST", WIDGETS, (WIDGET % f'{{"n":{large}}}').encode())
        assert (answer.status, answer.body["spec"]["n"]) == (201, float(large))
        assert isinstance(answer.body["spec"]["n"], float)


SLICE: dict[str, Any] = {"addressType": "IPv4", "endpoints": []}


@pytest.mark.parametrize(
    ("path", "body", "change", "generations"),
    [
        pytest.param(
            CONFIG_MAPS, {}, {"data": {"a": "b"}}, (7, 7), id="kept where the kind has none"
        ),
        pytest.param(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            SLICE,
            {"metadata": {"labels": {"a": "b"}}},
            (1, 2),
            id="labels of an endpoint slice count",
        ),
        pytest.param(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"value": 3},
            {"description": "x"},
            (1, 1),
            id="that of a priority class stays",
        ),
    ],
)
async def test_generations_change_as_in_kubernetes(
    serving: Serving,
    path: str,
    body: dict[str, Any],
    change: dict[str, Any],
    generations: tuple[int, int],
) -> None:
    async with serving() as api:
        made = await api.make("x", path, metadata={"generation": 7}, **body)
        changed = await api("PATCH", f"{path}/x", change, media=MERGE)
        found = (made.body["metadata"]["generation"], changed.body["metadata"]["generation"])
        assert found == generations


async def test_times_to_the_microsecond_need_their_digits(serving: Serving) -> None:
    async with serving() as api:
        path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        spec = {"renewTime": "2024-01-01T00:00:00Z"}
        answer = await api("POST", path, {"metadata": {"name": "l"}, "spec": spec})
        assert (answer.status, 'cannot parse "Z" as ".000000"' in answer.message) == (400, True)
        spec = {"renewTime": "2024-01-01T00:00:00.000000Z"}
        assert (await api("POST", path, {"metadata": {"name": "l"}, "spec": spec})).status == 201


async def test_users_and_groups_may_carry_a_namespace(serving: Serving) -> None:
    async with serving() as api:
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        subject = {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        subjects = [{**subject, "namespace": "default"}]
        made = await api.make("x", path, subjects=subjects, roleRef=role)
        assert made.body["subjects"][0]["namespace"] == "default"


async def test_errors_of_apply_name_the_core_group_as_go_does(serving: Serving) -> None:
    async with serving() as api:
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}, "nope": 1}
        answer = await api("PATCH", f"{CONFIG_MAPS}/x?fieldManager=me", body, media=APPLY)
        assert "x; /v1, Kind=ConfigMap): .nope: field not declared in schema" in answer.message


async def test_aggregated_discovery_can_be_switched_off(serving: Serving) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    async with serving() as api:
        assert (await api("GET", "/apis", accept=accept)).body["kind"] == "APIGroupDiscoveryList"
    options = ServerOptions(has_aggregated_discovery=False)
    async with serving(options=options) as api:
        assert (await api("GET", "/apis", accept=accept)).body["kind"] == "APIGroupList"


def test_gates_are_switched_by_name() -> None:
    text = "A=true,AggregatedDiscoveryEndpoint=false"
    assert is_switched_off(text, AGGREGATED_DISCOVERY)
    assert not is_switched_off("", AGGREGATED_DISCOVERY)
    assert parse_feature_gates(text) == {"A"}
    with pytest.raises(ValueError, match="expected NAME=true or NAME=false"):
        is_switched_off("A", "A")
