"""The audit log: which requests are written, how much of them, and never a secret."""

import asyncio
import errno
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from webhook_server import webhook_server

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.server.audit.log import AuditLog, AuditLogOptions
from quarterdeck.server.audit.policy import Level, PolicyError, Subject, parse_policy
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import User
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing.poll import eventually

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, nonResourceURLs: [/healthz*, /version]}
- {level: RequestResponse, resources: [{group: "", resources: [secrets, configmaps]}]}
- {level: RequestResponse, resources: [{group: "", resources: [serviceaccounts/token]}]}
- {level: Metadata}
"""


class World:
    """A server with an audit log, and a client of it."""

    def __init__(self, cluster: Cluster, client: http.Client, log: Path) -> None:
        self._cluster, self._client, self._log = cluster, client, log

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> int:
        headers = {"Content_Type": "application/json", **headers}
        given = [(name.replace("_", "-"), value) for name, value in headers.items()]
        response = await self._client.request(
            method,
            self._cluster.url + path,
            headers=given,
            body=None if body is None else json.dumps(body).encode(),
        )
        await response.read()
        return response.status

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@pytest.fixture
def options(tmp_path: Path) -> ServerOptions:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    return ServerOptions(audit_policy=policy, audit_log=tmp_path / "audit.log")


async def test_levels_decide_what_is_written(options: ServerOptions) -> None:
    assert options.audit_log is not None
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        await world.send("GET", "/healthz")
        assert world.events == []
        await world.send("GET", "/api/v1/namespaces/default/pods")
        body = {"metadata": {"name": "a"}, "data": {"k": "v"}}
        await world.send("POST", "/api/v1/namespaces/default/configmaps", body)
        await world.send(
            "GET", "/api/v1/namespaces/default/secrets/x", None, Impersonate_User="eve"
        )
        listed, created, refused = world.events
    assert (listed["verb"], listed["level"]) == ("list", "Metadata")
    assert listed["user"]["username"] == "quarterdeck:local"
    assert listed["objectRef"] == {
        "resource": "pods",
        "namespace": "default",
        "apiVersion": "v1",
    }
    assert listed["stage"] == "ResponseComplete"
    assert "responseObject" not in listed
    assert created["requestObject"]["data"] == {"k": "v"}
    assert created["responseObject"]["metadata"]["name"] == "a"
    assert "managedFields" not in created["responseObject"]["metadata"]
    assert created["responseStatus"]["code"] == 201
    assert refused["responseStatus"]["reason"] == "Forbidden"
    assert refused["impersonatedUser"]["username"] == "eve"
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_the_status_of_a_response_is_written_with_its_details(
    options: ServerOptions,
) -> None:
    assert options.audit_log is not None
    maps = "/api/v1/namespaces/default/configmaps"
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        await world.send("POST", maps, {"metadata": {"name": "a"}})
        await world.send("POST", maps, {"metadata": {"name": "a"}})
        await world.send("DELETE", f"{maps}/a")
        accept = {"Accept": "application/vnd.kubernetes.protobuf"}
        await world.send("POST", maps, {"metadata": {"name": "a"}})
        await world.send("DELETE", f"{maps}/a", **accept)
        made, taken, gone, _, gone_again = (each["responseStatus"] for each in world.events)
    assert made == {"metadata": {}, "code": 201}
    assert (taken["reason"], taken["details"]) == (
        "AlreadyExists",
        {"name": "a", "kind": "configmaps"},
    )
    for each in (gone, gone_again):
        assert (each["status"], each["code"]) == ("Success", 200)
        assert each["details"]["name"] == "a" and each["details"]["uid"]


async def test_secrets_and_tokens_are_never_written(options: ServerOptions) -> None:
    assert options.audit_log is not None
    secrets, accounts = (
        f"/api/v1/namespaces/default/{each}" for each in ("secrets", "serviceaccounts")
    )
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"stringData":{"k":"hunter2"}}'}
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        metadata = {"name": "s", "annotations": applied}
        body = {"metadata": metadata, "stringData": {"k": "hunter2"}}
        assert await world.send("POST", secrets, body) == 201
        assert await world.send("GET", secrets) == 200
        patch = [{"op": "replace", "path": "/data/k", "value": "aHVudGVyMg=="}]
        media = "application/json-patch+json"
        assert await world.send("PATCH", f"{secrets}/s", patch, Content_Type=media) == 200
        await world.send("POST", accounts, {"metadata": {"name": "robot"}})
        assert await world.send("POST", f"{accounts}/robot/token", {}) == 201
        text = options.audit_log.read_text()
        assert len(world.events) >= 5
    assert "hunter2" not in text
    assert "aHVudGVyMg" not in text
    assert "eyJ" not in text  # how signed tokens begin
    assert options.audit_log.stat().st_mode & 0o777 == 0o600


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"
SHOWING = {
    "table": ("GET", "", None, {"Accept": TABLE}),
    "table of whole objects": ("GET", "?includeObject=Object", None, {"Accept": TABLE}),
    "row of one object": ("GET", "/s?includeObject=Object", None, {"Accept": TABLE}),
    "patch that does not fit": ("PATCH", "/s", {"data": {"n": 5}}, {"Content_Type": MERGE}),
    "applied number": (
        "PATCH",
        "/s?fieldManager=m",
        {"kind": "Secret", "apiVersion": "v1", "stringData": {"pin": 73019284}},
        {"Content_Type": "application/apply-patch+yaml"},
    ),
    "text for data": ("POST", "", {"metadata": {"name": "t"}, "data": "aHVudGVyMg=="}, {}),
    "list for data": ("POST", "", {"metadata": {"name": "t"}, "stringData": ["hunter2"]}, {}),
}


@pytest.mark.parametrize(("method", "below", "body", "headers"), SHOWING.values(), ids=SHOWING)
async def test_no_form_of_a_secret_is_written(
    options: ServerOptions, method: str, below: str, body: Any, headers: dict[str, str]
) -> None:
    assert options.audit_log is not None
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"stringData":{"k":"hunter2"}}'}
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        metadata = {"name": "s", "annotations": applied}
        path = "/api/v1/namespaces/default/secrets"
        secret = {"metadata": metadata, "stringData": {"k": "hunter2"}}
        assert await world.send("POST", path, secret) == 201
        await world.send(method, path + below, body, **headers)
        text = options.audit_log.read_text()
        assert len(world.events) == 2
    assert not any(each in text for each in ("hunter2", "aHVudGVyMg", "73019284"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "Pod"}, "kind Policy"),
        ({"apiVersion": "v1"}, "audit.k8s.io/v1"),
        ({"rules": []}, "at least one"),
        ({"rules": [{"level": "Loud"}]}, "Loud"),
        ({"rules": [{"level": "None", "colour": 1}]}, "colour"),
        ({"omitStages": ["Later"]}, "Later"),
    ],
    ids=["kind", "version", "no rules", "level", "unknown field", "stage"],
)
def test_bad_policies_say_what_is_wrong(change: dict[str, Any], words: str) -> None:
    good = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]}
    with pytest.raises(PolicyError, match=words):
        parse_policy(good | change)


def test_first_matching_rule_decides() -> None:
    policy = parse_policy(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "rules": [
                {"level": "None", "users": ["system:probe"]},
                {"level": "Request", "userGroups": ["ops"], "verbs": ["delete"]},
                {
                    "level": "Metadata",
                    "namespaces": ["prod"],
                    "resources": [{"group": "apps", "resources": ["*/scale"]}],
                },
            ],
        }
    )
    ops = User(name="ann", groups=("ops",))
    scale = Subject(ops, "update", "apps", "v1", "deployments", "scale", "prod", "web")
    assert policy.decide(scale).level is Level.METADATA
    assert policy.decide(scale._replace(subresource="")).level is Level.NONE
    assert policy.decide(scale._replace(namespace="test")).level is Level.NONE
    assert policy.decide(scale._replace(verb="delete")).level is Level.REQUEST
    probe = User(name="system:probe", groups=("ops",))
    assert policy.decide(scale._replace(user=probe, verb="delete")).level is Level.NONE


async def test_file_is_rotated_and_old_ones_deleted(tmp_path: Path) -> None:
    clock = VirtualClock()
    options = AuditLogOptions(path=tmp_path / "audit.log", max_size_bytes=200, max_backups=2)
    log = AuditLog(options, clock)
    for number in range(30):
        log.append(json.dumps({"number": number, "text": "x" * 40}).encode())
        await clock.advance(1)
    log.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    assert all(each.stat().st_size <= 200 for each in files)
    last = (tmp_path / "audit.log").read_text().splitlines()[-1]
    assert json.loads(last)["number"] == 29


async def write_numbers(log: AuditLog, clock: VirtualClock, count: int) -> None:
    for number in range(count):
        log.append(json.dumps({"number": number, "text": "x" * 40}).encode())
        await clock.advance(1)


def read_numbers(folder: Path) -> list[int]:
    lines = [line for each in folder.iterdir() for line in each.read_text().splitlines()]
    return sorted(json.loads(line)["number"] for line in lines)


async def test_log_continues_after_somebody_has_moved_its_file(tmp_path: Path) -> None:
    clock = VirtualClock()
    log = AuditLog(AuditLogOptions(path=tmp_path / "audit.log", max_size_bytes=200), clock)
    log.append(b'{"number": -1}')
    (tmp_path / "audit.log").rename(tmp_path / "audit.log.1")
    await write_numbers(log, clock, 10)
    log.close()
    assert read_numbers(tmp_path) == list(range(-1, 10))
    assert (tmp_path / "audit.log").exists()


async def test_log_continues_in_its_file_if_it_cannot_be_rotated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = VirtualClock()
    log = AuditLog(AuditLogOptions(path=tmp_path / "audit.log", max_size_bytes=200), clock)
    stamp = clock.now().strftime("%Y-%m-%dT%H-%M")
    for second in range(60):
        (tmp_path / f"audit-{stamp}-{second:02}.000000.log").mkdir()
    await write_numbers(log, clock, 10)
    assert not log.is_closed
    log.close()
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert [json.loads(each)["number"] for each in lines] == list(range(10))
    messages = [each.getMessage() for each in caplog.records]
    assert "cannot rotate the audit log; it continues in the same file" in messages
    assert len(messages) < 5


async def test_requests_are_answered_while_the_log_cannot_be_written(
    options: ServerOptions, caplog: pytest.LogCaptureFixture
) -> None:
    assert options.audit_log is not None
    options.audit_log.symlink_to("/dev/full")
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        maps = "/api/v1/namespaces/default/configmaps"
        for name in ("a", "b"):
            assert await world.send("POST", maps, {"metadata": {"name": name}}) == 201
        assert await world.send("GET", f"{maps}/a") == 200
    messages = [each.getMessage() for each in caplog.records]
    lost = "cannot write the audit log; events are lost until it can be written"
    assert messages.count(lost) == 1


class LimitedFile(io.FileIO):
    """A file on a disk that is full while `left` is 0."""

    left = 0

    def write(self, data: Any) -> int:
        if self.left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = super().write(bytes(data)[: self.left])
        LimitedFile.left -= written
        return written


def test_lines_are_whole_after_the_disk_was_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "fdopen", lambda fd, mode, buffering: LimitedFile(fd, mode))
    log = AuditLog(AuditLogOptions(path=tmp_path / "audit.log"), VirtualClock())
    for number, left in enumerate((100, 0, 5, 0, 100)):
        monkeypatch.setattr(LimitedFile, "left", left)
        log.append(b'{"number": %d}' % number)
    log.close()
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert lines == ['{"number": 0}', '{"num', '{"number": 4}']
    assert [each.__dict__.get("lost") for each in caplog.records] == [None, 3]


async def test_only_rotated_files_are_deleted(tmp_path: Path) -> None:
    clock = VirtualClock()
    others = [tmp_path / name for name in ("audit-hub.log", "audit-policy.log", "audit-2026.log")]
    for each in others:
        each.write_text("")
    options = AuditLogOptions(path=tmp_path / "audit.log", max_size_bytes=200, max_backups=1)
    log = AuditLog(options, clock)
    await write_numbers(log, clock, 20)
    log.close()
    assert all(each.exists() for each in others)
    assert len(list(tmp_path.iterdir())) == len(others) + 2


async def test_watch_is_written_when_it_begins_and_when_it_ends(options: ServerOptions) -> None:
    assert options.audit_log is not None
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        path = "/api/v1/namespaces/default/pods?watch=true"
        response = await client.request("GET", cluster.url + path)
        (begun,) = world.events
        assert (begun["verb"], begun["stage"]) == ("watch", "ResponseStarted")
        await response.aclose()
        await eventually(lambda: len(world.events) == 2)
        ended = world.events[1]
    assert ended["stage"] == "ResponseComplete"
    assert ended["auditID"] == begun["auditID"]
    assert ended["stageTimestamp"] >= begun["stageTimestamp"]


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/namespaces/default/pods?watch=True",
        "/api/v1/namespaces/default/pods?watch",
        "/api/v1/namespaces/default/pods?limit=1&watch=1",
        "/api/v1/watch/namespaces/default/pods",
        "/api/v1/watch/namespaces/default/pods/web",
    ],
)
async def test_every_form_of_a_watch_is_written_as_a_watch(
    options: ServerOptions, target: str
) -> None:
    assert options.audit_log is not None
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        response = await client.request("GET", cluster.url + target)
        (begun,) = world.events
        await response.aclose()
    assert (begun["verb"], begun["stage"]) == ("watch", "ResponseStarted")


async def grant(world: World, namespace: str, **rule: list[str]) -> None:
    """Give eve a rule for the core group in a namespace."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    role = {"metadata": {"name": "eve"}, "rules": [{"apiGroups": [""], **rule}]}
    assert await world.send("POST", f"{rbac}/roles", role) == 201
    binding = {
        "metadata": {"name": "eve"},
        "roleRef": {"kind": "Role", "name": "eve"},
        "subjects": [{"kind": "User", "name": "eve"}],
    }
    assert await world.send("POST", f"{rbac}/rolebindings", binding) == 201


async def test_a_namespace_is_written_as_an_object_inside_of_itself(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    rules = "rules: [{level: Metadata, namespaces: [default], verbs: [get]}]"
    policy.write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules}\n")
    options = ServerOptions(audit_policy=policy, audit_log=log)
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, log)
        await grant(world, "default", resources=["namespaces"], verbs=["get"])
        path = "/api/v1/namespaces/default"
        assert await world.send("GET", path, None, Impersonate_User="eve") == 200
        event = world.events[-1]
    assert event["objectRef"]["namespace"] == event["objectRef"]["name"] == "default"
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_decision_on_a_list_of_one_name_is_that_of_the_request(
    options: ServerOptions,
) -> None:
    assert options.audit_log is not None
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        rule = {"resources": ["pods"], "resourceNames": ["web"], "verbs": ["list"]}
        await grant(world, "default", **rule)
        path = "/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dweb"
        assert await world.send("GET", path, None, Impersonate_User="eve") == 200
        event = world.events[-1]
    assert event["objectRef"]["name"] == "web"
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_decision_is_that_of_the_rights_before_the_request(options: ServerOptions) -> None:
    assert options.audit_log is not None
    rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        binding = {
            "metadata": {"name": "eve"},
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": "eve"}],
        }
        assert await world.send("POST", rbac, binding) == 201
        assert await world.send("DELETE", f"{rbac}/eve", None, Impersonate_User="eve") == 200
        event = world.events[-1]
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_refused_impersonation_is_written_without_a_decision(
    options: ServerOptions,
) -> None:
    assert options.audit_log is not None
    users = {"token": User(name="ann", groups=("system:authenticated",))}
    async with (
        Cluster(options=options, authenticators=(BearerTokens(users),)) as cluster,
        http.Client() as client,
    ):
        world = World(cluster, client, options.audit_log)
        headers = {"Authorization": "Bearer token", "Impersonate_User": "eve"}
        assert await world.send("GET", "/api", None, **headers) == 403
        (event,) = world.events
    assert event["user"]["username"] == "ann"
    assert "impersonatedUser" not in event
    assert "annotations" not in event


async def test_both_stages_are_written_unless_omitted(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    rules = "rules: [{level: Metadata, verbs: [get]}, {level: Metadata, omitStages: [%s]}]"
    text = f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules % 'ResponseComplete'}\n"
    policy.write_text(text)
    options = ServerOptions(audit_policy=policy, audit_log=log, lifecycle=False)
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, log)
        await world.send("GET", "/api/v1/namespaces/default")
        await world.send("GET", "/api/v1/namespaces")
    found = [(each["verb"], each["stage"]) for each in world.events]
    assert found == [
        ("get", "RequestReceived"),
        ("get", "ResponseComplete"),
        ("list", "RequestReceived"),
    ]


async def test_decision_names_the_binding_and_is_not_that_of_admission(
    options: ServerOptions,
) -> None:
    assert options.audit_log is not None
    group = "/apis/rbac.authorization.k8s.io/v1"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        body = {"metadata": {"name": "eve"}, "roleRef": role, "subjects": [subject]}
        assert await world.send("POST", f"{group}/clusterrolebindings", body) == 201
        refused = await world.send(
            "POST", "/api/v1/namespaces/nowhere/configmaps", {}, Impersonate_User="eve"
        )
        assert refused == 404
        event = world.events[-1]
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"
    reason = event["annotations"]["authorization.k8s.io/reason"]
    assert 'ClusterRoleBinding "eve" of ClusterRole "edit" to User "eve"' in reason


async def test_created_object_is_named_and_lists_lose_managed_fields(
    options: ServerOptions,
) -> None:
    assert options.audit_log is not None
    maps = "/api/v1/namespaces/default/configmaps"
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        await world.send("POST", maps, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        await world.send("GET", maps)
        created, listed = world.events
    assert created["objectRef"]["name"] == "a"
    items = listed["responseObject"]["items"]
    assert {each["metadata"]["name"] for each in items} >= {"a"}
    assert all("managedFields" not in each["metadata"] for each in items)


async def test_wrong_credentials_are_written_without_a_decision(options: ServerOptions) -> None:
    assert options.audit_log is not None
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        status = await world.send("GET", "/api/v1/pods", Authorization="Bearer wrong")
        (event,) = world.events
    assert status == event["responseStatus"]["code"] == 401
    assert "annotations" not in event


async def test_a_request_that_breaks_off_in_its_body_is_written_to_its_end(
    options: ServerOptions,
) -> None:
    assert options.audit_log is not None
    async with Cluster(options=options) as cluster, http.Client() as client:
        world = World(cluster, client, options.audit_log)
        for resource in ("configmaps", "endpoints"):  # with and without the body in the event
            _, writer = await asyncio.open_connection("127.0.0.1", int(cluster.url.split(":")[-1]))
            head = f"POST /api/v1/namespaces/default/{resource} HTTP/1.1\r\nHost: localhost\r\n"
            writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            await writer.drain()
            writer.close()
        await eventually(lambda: len(world.events) == 2)
    for event in world.events:
        assert event["stage"] == "ResponseComplete"
        assert event["responseStatus"] == {
            "metadata": {},
            "status": "Failure",
            "message": "Connection closed early",
            "code": 400,
        }


async def test_a_cancelled_request_is_written_to_its_end(options: ServerOptions) -> None:
    assert options.audit_log is not None
    asked = asyncio.Event()

    async def hang(request: http.Request) -> http.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    async with (
        Cluster(options=options) as cluster,
        http.Client() as client,
        webhook_server(hang) as server,
    ):
        world = World(cluster, client, options.audit_log)
        hook = {
            "name": "hanging.example.com",
            "clientConfig": {"url": server.url, "caBundle": server.ca_bundle},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await world.send("POST", path, {"metadata": {"name": "hooks"}, "webhooks": [hook]})
        request = http.Request.of(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            body=b'{"metadata":{"name":"a"}}',
        )
        answer = asyncio.create_task(cluster.api.handle(request))
        await asked.wait()
        answer.cancel()
        await asyncio.wait([answer])
        assert answer.cancelled()
        event = world.events[-1]
    assert event["objectRef"]["resource"] == "configmaps"
    assert event["stage"] == "ResponseComplete"
    assert event["responseStatus"]["code"] == 500


async def test_webhooks_that_changed_or_failed_are_named(options: ServerOptions) -> None:
    assert options.audit_log is not None
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    async with (
        Cluster(options=options) as cluster,
        http.Client() as client,
        webhook_server() as server,
    ):
        world = World(cluster, client, options.audit_log)
        hooks = [
            {
                "name": f"{name}.example.com",
                "clientConfig": {"url": f"{server.url}/{path}", "caBundle": server.ca_bundle},
                "rules": [rule],
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            for name, path in (("broken", "raw/status=500"), ("calm", "allow"))
        ]
        configuration = {"metadata": {"name": "hooks"}, "webhooks": hooks}
        path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        assert await world.send("POST", path, configuration) == 201
        maps = "/api/v1/namespaces/default/configmaps"
        assert await world.send("POST", maps, {"metadata": {"name": "a"}}) == 201
        found = world.events[-1]["annotations"]
    place = "mutation.webhook.admission.k8s.io/round_0_index_"
    assert found[f"failed-open.{place}0"] == "broken.example.com"
    assert json.loads(found[f"{place}1"]) == {
        "configuration": "hooks",
        "webhook": "calm.example.com",
        "mutated": False,
    }
