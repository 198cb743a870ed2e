"""Requests that make the server read or write much: large objects, long lists, long watches.

Each is legal, and none is about the body of a create, which `stalls` has. The names of the objects
differ from case to case: all of them run on one server.
"""

import json
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from bench.workloads import stalls
from bench.workloads.stalls import MAPS, PAUSE_S, TIMEOUT_S, WIDGETS, Api, Attack

PODS = "/api/v1/namespaces/default/pods"
NAMESPACES = "/api/v1/namespaces"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
YAML = "application/yaml"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
_GZIP = {"Accept-Encoding": "gzip"}


def list_attacks(share: float) -> list[Attack]:
    """List every case; `share` is how much of the full size each has.

    Full sizes are near the bounds of the server: 3 MiB of a body, and 4 MiB of an object with the
    owners of its fields.
    """
    many = int(20_000 * share)
    members = int(70_000 * share)
    env = int(34_000 * share)
    return [
        *_list_long_answers(many),
        *_list_large_pod_answers(env),
        _yaml_list(50),
        _large_tables(members),
        _large_apply(members // 2),
        _large_status(members),
        _large_delete_options(int(280_000 * share)),
        _large_delete(env),
        _large_orphans(members),
        _large_namespace(members),
        _pruned_object(members),
        _large_definition(int(50_000 * share)),
    ]


def _list_long_answers(count: int) -> list[Attack]:
    """Lists and watches of many small objects, which the first case creates."""
    path = f"{NAMESPACES}/long/configmaps"

    def prepare(api: Api) -> None:
        if api.send("GET", f"{NAMESPACES}/long") == 404:
            api.create(NAMESPACES, {"metadata": {"name": "long"}})
            stalls.create_at_once(api.url, path, count)

    def build(name: str, accept: str) -> Attack:
        headers = {"Accept": accept, **_GZIP}
        return Attack(
            f"{name} of {count:,}",
            lambda api: api.send("GET", path, headers=headers),
            prepare=prepare,
        )

    return [
        build("list in JSON", stalls.JSON),
        build("list in protobuf", PROTOBUF),
        build("list in YAML", YAML),
        build("Table", TABLE),
        Attack(
            f"watch of {count:,} in protobuf",
            lambda api: read_watch(api.url, f"{path}?watch=true", PROTOBUF),
            prepare=prepare,
        ),
        Attack(
            f"watch of {count:,} as Tables",
            lambda api: read_watch(api.url, f"{path}?watch=true", TABLE),
            prepare=prepare,
        ),
        Attack(
            f"{count:,} events again, in protobuf",
            lambda api: read_watch(api.url, f"{path}?watch=true&resourceVersion=1", PROTOBUF),
            prepare=prepare,
            expected=(200, 410),
        ),
    ]


def _list_large_pod_answers(count: int) -> list[Attack]:
    """Reads of a large pod, which the first case creates."""

    def prepare(api: Api) -> None:
        if api.send("GET", f"{PODS}/large-answer") == 404:
            api.create(PODS, build_pod("large-answer", count))

    def change(api: Api) -> int:
        """Change the pod while somebody watches it in protobuf and another in Tables."""
        version = json.loads(api.read(f"{PODS}/large-answer"))["metadata"]["resourceVersion"]
        path = f"{PODS}?watch=true&timeoutSeconds=2&resourceVersion={version}"
        watchers = [stalls.connected(api.url) for _ in range(2)]
        with watchers[0] as first, watchers[1] as second:
            first.begin("GET", path, {"Accept": PROTOBUF})
            second.begin("GET", path, {"Accept": TABLE})
            patch = b'{"metadata":{"labels":{"a":"b"}}}'
            status = api.send("PATCH", f"{PODS}/large-answer", patch, MERGE)
            first.end()
            second.end()
        return status

    accept = {"Accept": PROTOBUF, **_GZIP}
    return [
        Attack(
            f"read of a pod of {count:,} variables in protobuf",
            lambda api: api.send("GET", f"{PODS}/large-answer", headers=accept),
            prepare=prepare,
        ),
        Attack(
            f"list with a pod of {count:,} variables in protobuf",
            lambda api: api.send("GET", PODS, headers=accept),
            prepare=prepare,
        ),
        Attack(f"watches of a pod of {count:,} variables", change, prepare=prepare),
    ]


def _yaml_list(count: int) -> Attack:
    path = f"{NAMESPACES}/yaml/configmaps"

    def prepare(api: Api) -> None:
        api.create(NAMESPACES, {"metadata": {"name": "yaml"}})
        data = {f"key-{n}": f"value {n}" for n in range(20)}
        for number in range(count):
            api.create(path, {"metadata": {"name": f"y{number}"}, "data": data})

    headers = {"Accept": YAML}
    return Attack(
        f"list in YAML of {count}",
        lambda api: api.send("GET", path, headers=headers),
        prepare=prepare,
    )


def _large_tables(members: int) -> Attack:
    """Rows are short, what they are made from is not."""

    def prepare(api: Api) -> None:
        api.create(NAMESPACES, {"metadata": {"name": "tables"}})
        for number in range(8):
            api.create(_widgets("tables"), _build_widget(f"table-{number}", members))

    return Attack(
        f"Table of 8 objects of {members:,} members",
        lambda api: api.send("GET", _widgets("tables"), headers={"Accept": TABLE}),
        prepare=prepare,
    )


def _large_apply(members: int) -> Attack:
    def prepare(api: Api) -> None:
        api.create(WIDGETS, _build_widget("applied", members))

    def run(api: Api) -> int:
        body = json.dumps(_build_widget("applied", members), separators=(",", ":")).encode()
        path = f"{WIDGETS}/applied?fieldManager=second&force=true"
        return api.send("PATCH", path, body, APPLY)

    return Attack(f"apply of {members:,} members", run, prepare=prepare)


def _large_status(members: int) -> Attack:
    def prepare(api: Api) -> None:
        api.create(WIDGETS, _build_widget("reported", members))

    def run(api: Api) -> int:
        body = b'{"status":{"phase":"Ready"}}'
        return api.send("PATCH", f"{WIDGETS}/reported/status", body, MERGE)

    return Attack(f"status of an object of {members:,} members", run, prepare=prepare)


def _large_delete_options(lines: int) -> Attack:
    body = ("kind: DeleteOptions\napiVersion: v1\na:\n" + "- 1234\n" * lines).encode()
    return Attack(
        f"DELETE with options of {len(body):,} bytes",
        lambda api: api.send("DELETE", f"{MAPS}/absent", body, YAML),
        expected=(400, 404, 413),
    )


def _large_delete(count: int) -> Attack:
    def prepare(api: Api) -> None:
        api.create(PODS, build_pod("large-delete", count))

    return Attack(
        f"deletion of a pod of {count:,} variables",
        lambda api: api.send("DELETE", f"{PODS}/large-delete", headers={"Accept": PROTOBUF}),
        prepare=prepare,
    )


def _large_orphans(members: int) -> Attack:
    """The garbage collector drops the owner of large objects."""
    dependents = [f"orphan-{number}" for number in range(3)]

    def prepare(api: Api) -> None:
        api.create(MAPS, {"metadata": {"name": "owner"}})
        uid = json.loads(api.read(f"{MAPS}/owner"))["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        for name in dependents:
            value = _build_widget(name, members)
            value["metadata"] = {"name": name, "ownerReferences": [owner]}
            api.create(WIDGETS, value)

    def run(api: Api) -> int:
        status = api.send("DELETE", f"{MAPS}/owner?propagationPolicy=Orphan")
        _wait(lambda: api.send("GET", f"{MAPS}/owner") == 404)
        return status

    return Attack(f"3 orphans of {members:,} members", run, prepare=prepare)


def _large_namespace(members: int) -> Attack:
    path = f"{NAMESPACES}/heavy"

    def prepare(api: Api) -> None:
        api.create(NAMESPACES, {"metadata": {"name": "heavy"}})
        for number in range(8):
            api.create(_widgets("heavy"), _build_widget(f"heavy-{number}", members))

    def run(api: Api) -> int:
        status = api.send("DELETE", path)
        _wait(lambda: api.send("GET", path) == 404)
        return status

    return Attack(
        f"deletion of a namespace of 8 objects of {members:,} members", run, prepare=prepare
    )


def _pruned_object(members: int) -> Attack:
    """Objects are pruned and defaulted by every read once their definition changed."""
    group, things = "pruned.example.com", "/apis/pruned.example.com/v1/namespaces/default/things"
    definition = f"{stalls.DEFINITIONS}/things.{group}"

    def prepare(api: Api) -> None:
        api.create(stalls.DEFINITIONS, stalls.build_definition(group, stalls.WIDGET, "things"))
        value = _build_widget("pruned", members)
        api.create(things, value | {"apiVersion": f"{group}/v1", "kind": "Thing"})
        properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"
        patch = [{"op": "add", "path": f"{properties}/more", "value": {"type": "string"}}]
        body = json.dumps(patch).encode()
        if api.send("PATCH", definition, body, "application/json-patch+json") != 200:
            raise RuntimeError("the definition was not changed")

    def run(api: Api) -> int:
        path = f"{things}/pruned"
        statuses = [
            api.send("PATCH", path, b'{"spec":{"more":"a"}}', MERGE),
            api.send("GET", path),
            api.send("GET", things, headers={"Accept": TABLE}),
            api.send("DELETE", path),
        ]
        return max(statuses)

    name = f"verbs on {members:,} members of a changed definition"
    return Attack(name, run, prepare=prepare)


def _large_definition(count: int) -> Attack:
    members = {f"name{n}": {"type": "string"} for n in range(count)}
    group = "wide.example.com"
    value = stalls.build_definition(group, members, "wides")
    body = json.dumps(value, separators=(",", ":")).encode()
    return Attack(
        f"definition of {len(body):,} bytes",
        lambda api: api.send("POST", stalls.DEFINITIONS, body),
        expected=(201, 413, 422),
    )


def read_watch(url: str, path: str, accept: str) -> int:
    """Watch until no event comes for a moment; the status."""
    parts = urlsplit(url)
    address = (parts.hostname or "", parts.port or 0)
    with socket.create_connection(address, timeout=TIMEOUT_S) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: {accept}\r\n\r\n"
        connection.sendall(head.encode())
        first = connection.recv(1 << 16)
        connection.settimeout(1.0)
        try:
            while connection.recv(1 << 20):
                pass
        except TimeoutError:
            pass
    return int(first.split(b" ", 2)[1])


def _wait(is_done: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT_S
    while not is_done():
        if time.monotonic() > until:
            raise RuntimeError("what the request began did not end")
        time.sleep(PAUSE_S)


def _widgets(namespace: str) -> str:
    return WIDGETS.replace("/default/", f"/{namespace}/")


def _build_widget(name: str, members: int) -> dict[str, object]:
    free = {f"name-{number}": {"a": number} for number in range(members)}
    return {
        "apiVersion": "stall.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"free": free},
    }


def build_pod(name: str, count: int) -> dict[str, Any]:
    """A pod of many environment variables."""
    env = [{"name": f"N{number}", "value": "v" * 20} for number in range(count)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "nginx", "env": env}]},
    }
