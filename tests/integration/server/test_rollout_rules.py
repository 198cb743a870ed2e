"""What workloads may say about their updates; the expectations are kube-apiserver's answers."""

import json
from typing import Any

import pytest

Object = dict[str, Any]
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or"
    " '93%', regex used for validation is '[0-9]+%')"
)
NEGATIVE = "must be greater than or equal to 0"
NO_ROOM = "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when"


def text(value: str) -> str:
    return f'intstr.IntOrString{{Type:1, IntVal:0, StrVal:"{value}"}}'


def workload(kind: str, strategy: str, rolling: Object) -> Object:
    labels = {"a": "b"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    update = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec = {"selector": {"matchLabels": labels}, "template": pod, strategy: update}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


async def refused(serving: Any, path: str, body: Object) -> str:
    """What the server says to a new object; nothing if it takes it."""
    async with serving() as api:
        answer = await api("POST", f"{path}?dryRun=All", json.dumps(body).encode())
        if answer.status == 201:
            return ""
        assert answer.status == 422, answer
        return str(answer.message)


@pytest.mark.parametrize(
    ("rolling", "parts"),
    [
        pytest.param({"maxUnavailable": "10%"}, [], id="a share"),
        pytest.param({"maxUnavailable": 0, "maxSurge": 1}, [], id="one more"),
        pytest.param({"maxUnavailable": "0x10"}, [text("0x10"), PERCENT, NO_ROOM], id="no number"),
        pytest.param({"maxUnavailable": "5"}, [text("5"), PERCENT], id="a number as text"),
        pytest.param({"maxUnavailable": "150%"}, [text("150%"), "greater than 100%"], id="over"),
        pytest.param({"maxUnavailable": -1}, ["Invalid value: -1", NEGATIVE], id="negative"),
        pytest.param({"maxUnavailable": "0%"}, [NO_ROOM], id="nothing"),
        pytest.param({"maxUnavailable": 0, "maxSurge": "000%"}, [NO_ROOM], id="nothing at all"),
        pytest.param(
            {"maxUnavailable": 1, "maxSurge": 1},
            ['Type:0, IntVal:1, StrVal:""}: may not be set when maxUnavailable is non-zero'],
            id="both",
        ),
    ],
)
async def test_daemon_sets_replace_before_or_after(
    serving: Any, rolling: Object, parts: list[str]
) -> None:
    body = workload("DaemonSet", "updateStrategy", rolling)
    message = await refused(serving, "/apis/apps/v1/namespaces/default/daemonsets", body)
    assert bool(message) is bool(parts)
    assert all(part in message for part in parts), message
    assert (NO_ROOM in message) is (NO_ROOM in parts)


@pytest.mark.parametrize(
    ("rolling", "parts"),
    [
        pytest.param({"maxUnavailable": 0, "maxSurge": "9" * 40 + "%"}, [], id="very many"),
        pytest.param({"maxUnavailable": "x"}, [text("x"), PERCENT], id="no number"),
        pytest.param(
            {"maxUnavailable": 0, "maxSurge": "000%"},
            ['Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0'],
            id="nothing",
        ),
    ],
)
async def test_deployments_must_have_room(serving: Any, rolling: Object, parts: list[str]) -> None:
    body = workload("Deployment", "strategy", rolling)
    message = await refused(serving, "/apis/apps/v1/namespaces/default/deployments", body)
    assert bool(message) is bool(parts)
    assert all(part in message for part in parts), message


async def test_a_partition_is_not_negative(serving: Any) -> None:
    body = workload("StatefulSet", "updateStrategy", {"partition": -1})
    message = await refused(serving, "/apis/apps/v1/namespaces/default/statefulsets", body)
    assert f"spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: {NEGATIVE}" in message


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        *((zone, "") for zone in ("Europe/Berlin", "Etc/UTC", "UTC")),
        ("", "timeZone must be nil or non-empty string"),
        ("Local", "timeZone must be an explicit time zone as defined in"),
        *(
            (zone, f"unknown time zone {zone}")
            for zone in ("local", "999%", "../etc", "/etc", "Nope/City", "UTC+1", "Europe", " ")
        ),
    ],
)
async def test_time_zones_of_schedules_exist(serving: Any, zone: str, message: str) -> None:
    container = {"name": "c", "image": "i"}
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    spec = {"schedule": "* * * * *", "timeZone": zone, "jobTemplate": {"spec": job}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, "spec": spec}
    found = await refused(serving, "/apis/batch/v1/namespaces/default/cronjobs", body)
    assert bool(found) is bool(message)
    assert message in found


@pytest.mark.parametrize("member", ["kind", "name"])
async def test_a_target_fits_into_a_path(serving: Any, member: str) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", member: "A/b"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "x"},
        "spec": spec,
    }
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    message = await refused(serving, path, body)
    assert f"spec.scaleTargetRef.{member}: Invalid value: \"A/b\": may not contain '/'" in message


@pytest.mark.parametrize("name", [[], {}, [{}]], ids=["list", "object", "list of objects"])
async def test_a_merge_key_is_a_scalar(serving: Any, name: Any) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    async with serving() as api:
        body = workload("Deployment", "strategy", {})
        assert (await api("POST", path, json.dumps(body).encode())).status == 201
        patch = {"spec": {"template": {"spec": {"containers": [{"name": name}]}}}}
        media = "application/strategic-merge-patch+json"
        answer = await api("PATCH", f"{path}/x", json.dumps(patch).encode(), media=media)
        assert answer.status == 400, answer
        order = {"metadata": {"$setElementOrder/finalizers": [name], "finalizers": ["a.b/c"]}}
        answer = await api("PATCH", f"{path}/x", json.dumps(order).encode(), media=media)
        assert answer.status in (400, 422), answer
