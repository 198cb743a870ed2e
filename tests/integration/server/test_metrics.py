"""The metrics page: requests by the resource they resolved to, and nothing a client can add."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from webhook_server import webhook_server

MAPS = "/api/v1/namespaces/default/configmaps"


async def read_requests(api: Any) -> dict[tuple[str, ...], float]:
    """The samples of `apiserver_request_total`, by the values of their labels."""
    text = (await api("GET", "/metrics")).body.decode()
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "apiserver_request_total"
    }


async def test_requests_are_counted_by_resource_and_code(serving: Any) -> None:
    async with serving() as api:
        for _ in range(3):
            await api("GET", f"{MAPS}/none")
        await api("GET", MAPS)
        await api("GET", "/api/v1/configmaps")
        found = await read_requests(api)
        assert found["get", "", "v1", "configmaps", "", "resource", "404"] == 3
        assert found["list", "", "v1", "configmaps", "", "namespace", "200"] == 1
        assert found["list", "", "v1", "configmaps", "", "cluster", "200"] == 1


async def test_durations_are_a_histogram(serving: Any) -> None:
    async with serving() as api:
        await api("GET", MAPS)
        text = (await api("GET", "/metrics")).body.decode()
        families = {each.name: each for each in text_string_to_metric_families(text)}
        assert families["apiserver_request_duration_seconds"].type == "histogram"
        assert families["apiserver_longrunning_requests"].samples[0].value == 0
        assert families["apiserver_storage_revision"].samples[0].value > 0


async def test_paths_nobody_serves_make_no_series(serving: Any) -> None:
    async with serving() as api:
        await api("GET", "/apis/nope.example/v1/things")
        await api("GET", "/api/v1/nope")
        await read_requests(api)
        before = set(await read_requests(api))
        for number in range(50):
            await api("GET", f"/apis/group{number}.example/v1/things{number}")
            await api("GET", f"/api/v1/things{number}")
            await api("GET", f"/nothing/{number}")
            await api("GET", f"{MAPS}/none/subresource{number}")
        after = await read_requests(api)
        assert set(after) - before == {("get", "", "v1", "configmaps", "", "resource", "404")}


async def test_requests_without_valid_credentials_share_one_series(serving: Any) -> None:
    async with serving() as api:
        for number in range(5):
            token = f"Bearer token{number}"
            answer = await api("GET", f"{MAPS}/map{number}", authorization=token)
            assert answer.status == 401
        found = await read_requests(api)
        assert found["", "", "", "", "", "", "401"] == 5
        assert not any(each[3] == "configmaps" for each in found)


async def read_samples(api: Any, prefix: str) -> dict[tuple[str, ...], float]:
    """Samples whose names begin so, by what follows of the name and the values of the labels."""
    text = (await api("GET", "/metrics")).body.decode()
    return {
        (sample.name.removeprefix(prefix), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(prefix)
    }


async def test_questions_to_webhooks_are_counted(serving: Any) -> None:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }

    def hook(name: str, url: str, policy: str) -> dict[str, Any]:
        return {
            "name": f"{name}.example.com",
            "clientConfig": {"url": url, "caBundle": server.ca_bundle},
            "rules": [rule],
            "failurePolicy": policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }

    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    async with serving() as api, webhook_server() as server:
        hooks = [
            hook("broken", f"{server.url}/raw/status=500", "Ignore"),
            hook("never", f"{server.url}/deny/code=418", "Fail"),
        ]
        made = await api("POST", configurations, {"metadata": {"name": "h"}, "webhooks": hooks})
        assert made.status == 201, made.body
        assert (await api("POST", MAPS, {"metadata": {"name": "a"}})).status == 418
        found = await read_samples(api, "apiserver_admission_webhook_")
    broken, never = "broken.example.com", "never.example.com"
    assert found["request_total", broken, "validating", "CREATE", "503", "false"] == 1
    assert found["fail_open_count_total", broken, "validating"] == 1
    assert found["request_total", never, "validating", "CREATE", "418", "true"] == 1
    assert found["rejection_count_total", never, "validating", "CREATE", "no_error", "418"] == 1
    assert found["admission_duration_seconds_count", never, "validating", "CREATE", "true"] == 1


async def test_decisions_of_policies_are_counted(serving: Any) -> None:
    group = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.name != 'b'"}],
    }
    bound = {"policyName": "p", "validationActions": ["Deny", "Audit"]}
    async with serving() as api:
        await api("POST", f"{group}ies", {"metadata": {"name": "p"}, "spec": spec})
        await api("POST", f"{group}ybindings", {"metadata": {"name": "q"}, "spec": bound})
        assert (await api("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
        assert (await api("POST", MAPS, {"metadata": {"name": "b"}})).status == 422
        found = await read_samples(api, "apiserver_validating_admission_policy_check_")
    assert found["total", "p", "q", "no_error", "deny"] == 1
    assert found["total", "p", "q", "no_error", "audit"] == 1
    assert found["duration_seconds_count", "p", "q", "no_error", "deny"] == 1
