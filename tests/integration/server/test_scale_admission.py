"""Webhooks and policies see writes of `scale` as a Scale, whatever the object is."""

import base64
import json
from typing import Any

from webhook_server import webhook_server

from quarterdeck.kit import http
from quarterdeck.server.options import ServerOptions

Object = dict[str, Any]
APPS = "/apis/apps/v1/namespaces/default/deployments"
GROUP = "/apis/admissionregistration.k8s.io"
RULE = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["UPDATE"],
    "resources": ["deployments/scale"],
}
MERGE = "application/merge-patch+json"


def deployment() -> Object:
    labels = {"app": "a"}
    return {
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }


async def scale(api: Any, replicas: int) -> Any:
    return await api("PATCH", f"{APPS}/a/scale", {"spec": {"replicas": replicas}}, media=MERGE)


async def test_webhook_gets_a_scale_and_may_change_it(serving: Any) -> None:
    seen: list[Object] = []

    async def halve(request: http.Request) -> http.Response:
        review = json.loads(await request.read(1 << 20))["request"]
        seen.append(review)
        wanted = review["object"]["spec"]["replicas"] // 2
        patch = [{"op": "replace", "path": "/spec/replicas", "value": wanted}]
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {
                "uid": review["uid"],
                "allowed": True,
                "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
            },
        }
        return http.Response(200, [], json.dumps(answer).encode())

    async with serving() as api, webhook_server(halve) as hook:
        await api("POST", APPS, deployment())
        webhook = {
            "name": "halve.example.com",
            "clientConfig": {"url": hook.url, "caBundle": hook.ca_bundle},
            "rules": [RULE],
            "matchConditions": [{"name": "much", "expression": "object.spec.replicas > 5"}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        made = await api(
            "POST",
            f"{GROUP}/v1/mutatingwebhookconfigurations",
            {"metadata": {"name": "halve"}, "webhooks": [webhook]},
        )
        assert made.status == 201, made.body
        assert (await scale(api, 4)).body["spec"]["replicas"] == 4
        assert not seen
        answer = await scale(api, 8)
        assert answer.body["spec"]["replicas"] == 4
        stored = (await api("GET", f"{APPS}/a")).body
        assert stored["spec"]["replicas"] == 4
        assert stored["spec"]["template"]["spec"]["containers"][0]["image"] == "i"
    (review,) = seen
    assert review["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert review["resource"]["resource"] == "deployments"
    assert (review["subResource"], review["requestSubResource"]) == ("scale", "scale")
    assert (review["object"]["kind"], review["oldObject"]["kind"]) == ("Scale", "Scale")
    assert (review["object"]["spec"], review["oldObject"]["spec"]) == (
        {"replicas": 8},
        {"replicas": 4},
    )


async def test_policies_check_and_change_the_replicas(serving: Any) -> None:
    match = {"resourceRules": [RULE]}
    options = ServerOptions(feature_gates=frozenset({"MutatingAdmissionPolicy"}))
    cap = (
        "Object{spec: Object.spec{replicas: object.spec.replicas > 10 ? 10 : object.spec.replicas}}"
    )
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": cap}}
    async with serving(options=options) as api:
        await api("POST", APPS, deployment())
        for path, body in (
            (
                "v1/validatingadmissionpolicies",
                {
                    "matchConstraints": match,
                    "validations": [{"expression": "object.spec.replicas != 3"}],
                },
            ),
            (
                "v1/validatingadmissionpolicybindings",
                {"policyName": "p", "validationActions": ["Deny"]},
            ),
            (
                "v1alpha1/mutatingadmissionpolicies",
                {
                    "matchConstraints": match,
                    "mutations": [mutation],
                    "reinvocationPolicy": "Never",
                },
            ),
            ("v1alpha1/mutatingadmissionpolicybindings", {"policyName": "p"}),
        ):
            made = await api("POST", f"{GROUP}/{path}", {"metadata": {"name": "p"}, "spec": body})
            assert made.status == 201, made.body
        assert (await scale(api, 3)).status == 422
        assert (await scale(api, 7)).body["spec"]["replicas"] == 7
        assert (await scale(api, 70)).body["spec"]["replicas"] == 10
