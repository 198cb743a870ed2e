"""What a server makes for itself, and how kubectl shows it."""

from typing import Any

import pytest
from tests.integration.server.conftest import CONFIG_MAPS, Api, Serving

from quarterdeck.server.options import ServerOptions

FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
OPTIONS = ServerOptions(has_system_objects=True)


async def names(api: Api, path: str) -> set[str]:
    return {each["metadata"]["name"] for each in (await api("GET", path)).body["items"]}


async def row(api: Api, path: str) -> dict[str, Any]:
    table = (await api("GET", path, accept=TABLE)).body
    heads = [each["name"] for each in table["columnDefinitions"]]
    return dict(zip(heads, table["rows"][0]["cells"], strict=True))


async def test_levels_and_schemas_of_flow_control_exist(serving: Serving) -> None:
    async with serving(options=OPTIONS) as api:
        levels = await names(api, f"{FLOW}/prioritylevelconfigurations")
        schemas = (await api("GET", f"{FLOW}/flowschemas")).body["items"]
        assert len(levels) == 8 and {"exempt", "catch-all", "workload-low"} <= levels
        assert len(schemas) == 13
        for each in schemas:
            assert each["spec"]["priorityLevelConfiguration"]["name"] in levels
        shown = await row(api, f"{FLOW}/flowschemas/service-accounts")
        assert shown.pop("Age").endswith("s")
        assert shown == {
            "Name": "service-accounts",
            "PriorityLevel": "workload-low",
            "MatchingPrecedence": 9000,
            "DistinguisherMethod": "ByUser",
            "MissingPL": "False",
        }
        table = (await api("GET", f"{FLOW}/flowschemas", accept=TABLE)).body["rows"]
        order = [each["cells"][2] for each in table]
        assert order == sorted(order) and order[3:5] == [150, 200]
        shown = await row(api, f"{FLOW}/prioritylevelconfigurations/leader-election")
        assert (shown["NominalConcurrencyShares"], shown["HandSize"]) == (10, 4)


async def test_api_services_follow_definitions(serving: Serving) -> None:
    async with serving(options=OPTIONS) as api:
        found = await names(api, SERVICES)
        assert {"v1.", "v1.apps", "v2.autoscaling", "v1.apiextensions.k8s.io"} <= found
        shown = await row(api, f"{SERVICES}/v1.apps")
        assert (shown["Service"], shown["Available"]) == ("Local", "True")
        await api.define_widgets()
        custom = (await api("GET", f"{SERVICES}/v1.stable.example.com")).body
        assert custom["spec"] == {
            "group": "stable.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        }
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.stable.example.com"
        await api("DELETE", path)
        assert (await api("GET", f"{SERVICES}/v1.stable.example.com")).status == 404


async def test_an_api_service_of_somebody_else_stays(serving: Serving) -> None:
    async with serving(options=OPTIONS) as api:
        service = {"namespace": "default", "name": "metrics"}
        spec = {
            "group": "metrics.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": service,
            "insecureSkipTLSVerify": True,
        }
        made = await api.make("v1.metrics.example.com", SERVICES, spec=spec)
        assert made.status == 201
        await api.define_widgets()
        shown = await row(api, f"{SERVICES}/v1.metrics.example.com")
        assert (shown["Service"], shown["Available"]) == ("default/metrics", "Unknown")


async def test_the_service_kubernetes_leads_to_the_server(serving: Serving) -> None:
    async with serving(options=OPTIONS) as api:
        await api.cluster.api.publish_address("127.0.0.1", 4711)
        base = "/api/v1/namespaces/default"
        service = (await api("GET", f"{base}/services/kubernetes")).body
        assert service["spec"]["clusterIP"] == "10.96.0.1"
        endpoints = (await api("GET", f"{base}/endpoints/kubernetes")).body
        (subset,) = endpoints["subsets"]
        assert subset["addresses"] == [{"ip": "127.0.0.1"}]
        assert subset["ports"] == [{"name": "https", "port": 4711, "protocol": "TCP"}]
        path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
        assert (await api("GET", path)).body["endpoints"][0]["addresses"] == ["127.0.0.1"]
        await api.cluster.api.publish_address("127.0.0.1", 4712)
        again = (await api("GET", path)).body
        assert again["ports"][0]["port"] == 4712


async def test_component_statuses_are_computed(serving: Serving) -> None:
    async with serving() as api:
        answer = await api("GET", "/api/v1/componentstatuses")
        found = {each["metadata"]["name"]: each["conditions"][0] for each in answer.body["items"]}
        assert found.keys() == {"controller-manager", "scheduler", "etcd-0"}
        assert found["etcd-0"] == {"type": "Healthy", "status": "True", "message": "ok"}
        assert "deprecated" in str(answer.headers.get("warning"))
        assert (await row(api, "/api/v1/componentstatuses/etcd-0"))["Status"] == "Healthy"
        assert (await api("GET", "/api/v1/componentstatuses/none")).status == 404
        assert (await api("POST", "/api/v1/componentstatuses", {})).status == 405


async def test_answers_carry_an_audit_id(serving: Serving) -> None:
    async with serving() as api:
        first = (await api("GET", CONFIG_MAPS)).headers.get("audit-id")
        second = (await api("GET", f"{CONFIG_MAPS}/none")).headers.get("audit-id")
        assert first and second and first != second
        kept = await api("GET", CONFIG_MAPS, Audit_ID="from-a-proxy")
        assert kept.headers.get("audit-id") == "from-a-proxy"


async def test_the_version_names_a_commit_of_kubernetes(serving: Serving) -> None:
    async with serving() as api:
        version = (await api("GET", "/version")).body
        assert version["gitCommit"].startswith("59526cd48674")


STORAGE = "/apis/storage.k8s.io/v1"
TEMPLATE = {
    "metadata": {"labels": {"b": "2", "a": "1"}},
    "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]},
}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        pytest.param(
            "/api/v1/namespaces/default/podtemplates",
            {"template": TEMPLATE},
            {"Containers": "c,d", "Images": "i,j", "Pod Labels": "a=1,b=2"},
            id="pod template",
        ),
        pytest.param(
            f"{STORAGE}/csidrivers",
            {"spec": {"tokenRequests": [{"audience": "x"}]}},
            {"AttachRequired": True, "TokenRequests": "x", "Modes": "Persistent"},
            id="driver",
        ),
        pytest.param(
            f"{STORAGE}/csinodes",
            {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}},
            {"Drivers": 1},
            id="node",
        ),
        pytest.param(
            f"{STORAGE}/namespaces/default/csistoragecapacities",
            {"storageClassName": "fast"},
            {"StorageClassName": "fast", "Capacity": "<unset>"},
            id="capacity",
        ),
        pytest.param(
            f"{STORAGE}/volumeattachments",
            {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}},
            {"Attacher": "a", "PV": "p", "Node": "n", "Attached": False},
            id="attachment",
        ),
    ],
)
async def test_tables_have_the_columns_of_kubernetes(
    serving: Serving, path: str, body: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with serving() as api:
        await api.make("x", path, **body)
        shown = await row(api, f"{path}/x")
        assert {name: shown[name] for name in expected} == expected
