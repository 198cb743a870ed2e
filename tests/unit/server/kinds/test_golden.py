"""Built-in kinds against what a real server answered, at the level of strategies and plugins."""

import json
import pathlib
import random
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from quarterdeck.meta.field import FieldError
from quarterdeck.server.admission.assembly import build_plugins, choose_plugins
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.plugins.service_addresses import ServiceAddresses
from quarterdeck.server.authentication.user import User
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.registry import metadata_validation as rules
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Context, Object, Resource
from quarterdeck.storage import Store, StoreKey, open_memory
from quarterdeck.wire import merge_patch, path, strategic
from quarterdeck.wire.status import ApiError, Invalid

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "kube-apiserver-v1.32.4.jsonl"
CASES: dict[str, Any] = {
    case["title"]: case for case in map(json.loads, GOLDEN.read_text().splitlines())
}
NOW = datetime(2026, 11, 15, 2, 26, 59, tzinfo=UTC)
UID = "00000000-0000-4000-8000-000000000001"
USER = User(name="admin")


def _build_plugins(store: Store, rng: random.Random) -> tuple[Plugin, ...]:
    """The plugins that look at objects; namespaces are not stored here."""
    chosen = choose_plugins((), ("NamespaceLifecycle",))
    return (*build_plugins(chosen, store, rng), ServiceAddresses(store))


class World:
    """A store, the built-in resources and the plugins: the server without requests."""

    def __init__(self) -> None:
        self.store: Store = open_memory()
        self.random = random.Random(1)
        self.registry = Registry()
        self.registry.put("builtin", build_builtin_resources())
        self.plugins = _build_plugins(self.store, self.random)

    def context(self, **changes: Any) -> Context:
        return Context(now=NOW, random=self.random, **changes)

    def resource(self, place: path.ResourcePath) -> Resource:
        for resource in self.registry:
            if resource.gvr == (place.group, place.version, place.resource):
                return resource
        raise LookupError(place)

    async def replay(self, title: str) -> Object:
        request = CASES[title]["request"]
        place = path.parse(urlsplit(request["path"]).path)
        assert place is not None
        body = json.loads(json.dumps(request["body"]))
        resource = self.resource(place)
        if request["method"] == "POST":
            return await self.create(resource, place.namespace, body)
        if request["method"] == "PATCH":
            patch = strategic if "strategic" in request["contentType"] else None
            return await self.patch(resource, place, body, strategically=patch is not None)
        if "Table" in request["accept"]:
            return self.table(resource, place)
        return self.get(resource, place)

    async def create(self, resource: Resource, namespace: str, value: Object) -> Object:
        strategy = resource.strategy
        value.setdefault("kind", resource.kind)
        value.setdefault("apiVersion", resource.api_version)
        value = strategy.normalize(value).value
        metadata = value["metadata"]
        if resource.namespaced:
            metadata["namespace"] = namespace
        strategy.default(value)
        attributes = AdmissionAttributes(
            verb="create",
            resource=resource,
            namespace=namespace,
            name=metadata.get("name", ""),
            user=USER,
            value=value,
        )
        for plugin in self.plugins:
            plugin.admit(attributes)
        metadata["uid"], metadata["creationTimestamp"] = UID, "2026-11-15T02:26:59Z"
        if strategy.has_generation:
            metadata["generation"] = 1
        strategy.prepare_create(value, self.context())
        if "generateName" in metadata:
            metadata.setdefault("name", metadata["generateName"] + "bcdfg")
        problems = rules.validate_metadata(
            metadata, strategy.validate_name, namespaced=resource.namespaced
        )
        told = self.context(metadata_errors=tuple(problems))
        self.refuse(resource, metadata, [*problems, *strategy.validate_create(value, told)])
        return await self.put(resource, value)

    async def patch(
        self, resource: Resource, place: path.ResourcePath, body: Object, *, strategically: bool
    ) -> Object:
        strategy, old = resource.strategy, self.get(resource, place)
        context = self.context(subresource=place.subresource)
        value: Object = (
            strategic.apply(old, body, resource.node)
            if strategically
            else merge_patch.apply(old, body)
        )
        value = strategy.normalize(value).value
        strategy.default(value)
        value["metadata"] = {**old["metadata"], **value["metadata"]}
        strategy.prepare_update(value, old, context)
        if strategy.bumps_generation(value, old, context):
            value["metadata"]["generation"] = old["metadata"]["generation"] + 1
        self.refuse(resource, old["metadata"], list(strategy.validate_update(value, old, context)))
        return await self.put(resource, value)

    def refuse(self, resource: Resource, metadata: Object, errors: list[FieldError]) -> None:
        if errors:
            name = metadata.get("name", "")
            raise Invalid.of(resource.kind, name, errors, group=resource.gvr.group)

    async def put(self, resource: Resource, value: Object) -> Object:
        metadata = value["metadata"]
        key = StoreKey(resource.stored_name, metadata.get("namespace", ""), metadata["name"])
        stored = resource.strategy.to_stored(value)
        await self.store.put(key, lambda revision: json.dumps(stored).encode())
        return value

    def get(self, resource: Resource, place: path.ResourcePath) -> Object:
        entry = self.store.get(StoreKey(resource.stored_name, place.namespace, place.name))
        assert entry is not None
        return resource.strategy.to_served(json.loads(entry.value))

    def table(self, resource: Resource, place: path.ResourcePath) -> Object:
        entries = self.store.snapshot().range(
            resource.stored_name, place.namespace or None, after=None, limit=None
        )
        strategy = resource.strategy
        return {
            "columnDefinitions": [
                {
                    "name": column.name,
                    "type": column.type,
                    "format": column.format,
                    "description": column.description,
                    "priority": column.priority,
                }
                for column in strategy.columns
            ],
            "rows": [
                list(strategy.build_cells(strategy.to_served(json.loads(entry.value)), NOW))
                for entry in entries
            ],
        }


GENERATED = re.compile(r"(kube-api-access-)[a-z0-9]{5}|10\.\d+\.\d+\.\d+|(\"g-)[a-z0-9]{5}(?=\")")


def masked(value: Any) -> Any:
    """Without what differs from run to run."""
    text = json.dumps(value, sort_keys=True)
    uid = value.get("metadata", {}).get("uid") if isinstance(value, dict) else None
    if uid:
        text = text.replace(uid, UID)
    text = GENERATED.sub(r"\1\2?", text)
    copy = json.loads(text)
    if isinstance(copy, dict) and isinstance(copy.get("metadata"), dict):
        for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            copy["metadata"].pop(name, None)
    return copy


def expected_of(title: str) -> Any:
    body = CASES[title]["body"]
    if body.get("kind") == "Table":
        return {
            "columnDefinitions": body["columnDefinitions"],
            "rows": [row["cells"] for row in body["rows"]],
        }
    return masked(body)


PREPARED: dict[str, tuple[str, ...]] = {
    "namespace": (),
    "namespace bad name": (),
    "serviceaccount default": (),
    "deployment": (),
    "deployment selector mismatch": (),
    "deployment no containers": (),
    "deployment selector immutable": ("deployment",),
    "strategic add container": ("deployment",),
    "strategic env": ("deployment", "strategic add container"),
    "strategic delete env": ("deployment", "strategic add container", "strategic env"),
    "pod": ("serviceaccount default",),
    "pod bad image": ("serviceaccount default",),
    "pod immutable": ("serviceaccount default", "pod"),
    "pod table": ("serviceaccount default", "pod"),
    "service": (),
    "service no ports": (),
    "secret stringData": (),
    "secret bad base64": (),
    "secret immutable type": ("secret stringData",),
    "configmap no kind": (),
    "configmap bad type": (),
    "configmap immutable": (),
    "configmap immutable change": ("configmap immutable",),
    "statefulset": (),
    "daemonset": (),
    "replicaset": (),
    "job": (),
    "job bad restart": (),
    "cronjob": (),
    "cronjob bad schedule": (),
    "ingress": (),
    "networkpolicy": (),
    "hpa": (),
    "pdb": (),
    "pvc": (),
    "role": (),
    "role bad": (),
    "rolebinding": (),
    "rolebinding roleRef immutable": ("rolebinding",),
    "lease": (),
    "event": (),
    "event other namespace": (),
    "event in new group": ("event",),
    "node": (),
    "node table": ("node",),
}


@pytest.mark.parametrize("title", PREPARED)
async def test_a_recorded_answer_is_given_again(title: str) -> None:
    world = World()
    for before in PREPARED[title]:
        await world.replay(before)
    try:
        answer = await world.replay(title)
    except ApiError as error:
        answer = error.to_status()
    assert masked(answer) == expected_of(title)
    await world.store.close()


async def test_the_deployment_status_is_written_by_its_endpoint() -> None:
    world = World()
    old = await world.replay("deployment")
    changed = await world.replay("deployment status")
    assert changed["status"] == CASES["deployment status"]["body"]["status"]
    assert changed["spec"] == old["spec"]
    await world.store.close()


async def test_the_deployment_scale_and_table_are_as_recorded() -> None:
    world = World()
    await world.replay("deployment")
    changed = await world.replay("deployment status")
    resource = next(each for each in world.registry if each.kind == "Deployment")
    scale = CASES["deployment scale"]["body"]
    assert resource.strategy.read_scale(changed) == (
        scale["spec"]["replicas"],
        scale["status"]["replicas"],
        scale["status"]["selector"],
    )
    table = CASES["deployment table"]["body"]
    shown = await world.replay("deployment table")
    assert shown["columnDefinitions"] == table["columnDefinitions"]
    assert shown["rows"] == [["d", "1/1", 0, 0, "0s", "c", "nginx", "app=d"]]
    await world.store.close()
