"""What a client may rely on for single objects, on every server."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client.interfaces import PatchType
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta, replace, with_metadata
from quarterdeck.wire.query import CreateOptions, DeleteOptions, Preconditions
from quarterdeck.wire.status import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Cause,
    Conflict,
    Invalid,
    NotFound,
)

Places = Callable[[], AbstractAsyncContextManager[Any]]
CONFIGS = GVR("", "v1", "configmaps")
SERVICES = GVR("", "v1", "services")


def config(name: str, namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def causes(error: ApiError) -> Sequence[Cause]:
    assert error.details is not None
    return error.details.causes


async def test_an_object_has_an_identity_and_a_version(place: Places) -> None:
    async with place() as at:
        made = await at.client.create(config("a", at.namespace, x="1"))
        assert made.metadata.uid
        assert made.metadata.creation_timestamp
        read = await at.client.get(ConfigMap, "a", at.namespace)
        assert read.resource_version == made.resource_version
        changed = await at.client.update(replace(read, data={"x": "2"}))
        assert int(changed.resource_version) > int(made.resource_version)
        same = await at.client.update(changed)
        assert same.resource_version == changed.resource_version, "a write of nothing is none"


async def test_names_are_generated_from_generate_name(place: Places) -> None:
    async with place() as at:
        metadata = ObjectMeta(generate_name="gen-", namespace=at.namespace)
        made = await at.client.create(ConfigMap(metadata=metadata))
        assert made.metadata.name.startswith("gen-")
        assert len(made.metadata.name) == len("gen-") + 5


async def test_failures_have_their_classes_and_details(place: Places) -> None:
    async with place() as at:
        with pytest.raises(NotFound) as missing:
            await at.client.get(ConfigMap, "nobody", at.namespace)
        assert missing.value.message == 'configmaps "nobody" not found'
        await at.client.create(config("a", at.namespace))
        with pytest.raises(AlreadyExists) as taken:
            await at.client.create(config("a", at.namespace))
        assert taken.value.message == 'configmaps "a" already exists'
        with pytest.raises(Invalid) as invalid:
            await at.client.create(config("Not a name", at.namespace))
        assert [cause.field for cause in causes(invalid.value)] == ["metadata.name"]
        with pytest.raises(BadRequest):
            await at.client.create(config("b", "elsewhere"), at.namespace)


async def test_a_stale_update_is_refused(place: Places) -> None:
    async with place() as at:
        first = await at.client.create(config("a", at.namespace, x="1"))
        await at.client.update(replace(first, data={"x": "2"}))
        with pytest.raises(Conflict, match="the object has been modified"):
            await at.client.update(replace(first, data={"x": "3"}))


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param(PatchType.MERGE, {"data": {"x": None, "y": "2"}}, id="merge"),
        pytest.param(PatchType.STRATEGIC, {"data": {"x": None, "y": "2"}}, id="strategic"),
        pytest.param(
            PatchType.JSON,
            [
                {"op": "remove", "path": "/data/x"},
                {"op": "add", "path": "/data/y", "value": "2"},
            ],
            id="json",
        ),
    ],
)
async def test_patches_change_what_they_name(place: Places, kind: PatchType, patch: Any) -> None:
    async with place() as at:
        made = await at.client.create(config("a", at.namespace, x="1", z="9"))
        changed = await at.client.patch(made, patch, kind=kind)
        assert changed.data == {"y": "2", "z": "9"}


async def test_strategic_patches_merge_lists_by_their_keys(place: Places) -> None:
    async with place() as at:
        services = at.client.resource(SERVICES)
        await services.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "namespace": at.namespace},
                "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]},
            }
        )
        changed = await services.patch(
            "s",
            {"spec": {"ports": [{"port": 81, "name": "c"}, {"port": 80, "$patch": "delete"}]}},
            namespace=at.namespace,
            kind=PatchType.STRATEGIC,
        )
        ports = [(port["name"], port["port"]) for port in changed["spec"]["ports"]]
        assert ports == [("c", 81)]


async def test_apply_owns_fields_and_names_conflicts(place: Places) -> None:
    async with place() as at:
        mine = await at.client.apply(config("a", at.namespace, x="1", y="1"), manager="me")
        again = await at.client.apply(config("a", at.namespace, x="1", y="1"), manager="me")
        assert again.resource_version == mine.resource_version, "no-ops do not count"
        with pytest.raises(Conflict) as refused:
            await at.client.apply(config("a", at.namespace, x="2"), manager="you")
        cause = causes(refused.value)[0]
        assert (cause.reason, cause.field) == ("FieldManagerConflict", ".data.x")
        assert 'conflict with "me"' in cause.message
        forced = await at.client.apply(config("a", at.namespace, x="2"), manager="you", force=True)
        assert forced.data == {"x": "2", "y": "1"}
        less = await at.client.apply(config("a", at.namespace), manager="me")
        assert less.data == {"x": "2"}, "what nobody owns any more is gone"


async def test_dry_runs_change_nothing(place: Places) -> None:
    async with place() as at:
        options = CreateOptions(dry_run=("All",))
        made = await at.client.create(config("a", at.namespace), options=options)
        assert made.metadata.uid
        with pytest.raises(NotFound):
            await at.client.get(ConfigMap, "a", at.namespace)
        wanted = config("b", at.namespace, x="1")
        await at.client.apply(wanted, manager="me", dry_run=True)
        assert "b" not in {c.metadata.name for c in await at.client.list(ConfigMap, at.namespace)}


async def test_a_deletion_may_name_exactly_one_object(place: Places) -> None:
    async with place() as at:
        first = await at.client.create(config("a", at.namespace))
        await at.client.delete(first)
        second = await at.client.create(config("a", at.namespace))
        assert second.metadata.uid != first.metadata.uid
        with pytest.raises(Conflict, match="UID in the precondition"):
            await at.client.delete(first)
        options = DeleteOptions(preconditions=Preconditions(resource_version="1"))
        with pytest.raises(Conflict, match=r"[Rr]esource ?[Vv]ersion in (the )?precondition"):
            await at.client.delete(second, options=options)
        await at.client.delete(second)
        with pytest.raises(NotFound):
            await at.client.delete(second)


async def test_finalizers_hold_an_object_until_they_are_gone(place: Places) -> None:
    async with place() as at:
        metadata = ObjectMeta(name="a", namespace=at.namespace, finalizers=("example.com/hold",))
        held = await at.client.create(ConfigMap(metadata=metadata))
        await at.client.delete(held)
        going = await at.client.get(ConfigMap, "a", at.namespace)
        assert going.is_deleting
        with pytest.raises(Invalid, match=r"metadata\.finalizers"):
            await at.client.update(with_metadata(going, finalizers=("example.com/more",)))
        await at.client.update(with_metadata(going, finalizers=()))
        with pytest.raises(NotFound):
            await at.client.get(ConfigMap, "a", at.namespace)


async def test_unknown_fields_are_refused_where_asked(place: Places) -> None:
    async with place() as at:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": at.namespace},
            "dtaa": {"x": "1"},
        }
        options = CreateOptions(field_validation="Strict")
        with pytest.raises(ApiError, match='unknown field "dtaa"') as refused:
            await at.client.resource(CONFIGS).create(body, options=options)
        assert refused.value.code == 400
        assert "dtaa" not in await at.client.resource(CONFIGS).create(body)
