"""Removes from the store what is left of objects that are gone.

Finalizers do this when an object is deleted. They do not run if the API server was restored from
an older snapshot or started empty; without this, a policy that nobody can see or delete any more
would be enforced for ever.
"""

from collections.abc import AsyncIterator, Callable, Mapping

import msgspec

from quarterdeck.apis.clusterpulse.v1alpha1 import (
    ClusterConnection,
    MetricSource,
    MonitorAccessPolicy,
    RegistryConnection,
)
from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Api, Form
from quarterdeck.hubstate import (
    cluster_writes,
    keys,
    policy_writes,
    registry_writes,
    source_writes,
)
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.writes import RemoveMembers, Write
from quarterdeck.inventory.policy import CompiledPolicy
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError

_TYPES = keys.sources_of_type("")
_log = get_logger("operators.clusters")


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""


class _Head(msgspec.Struct):
    metadata: _Meta


async def remove_leftovers(state: StateStore, api: Api, clock: Clock) -> None:
    """Remove what the store has of clusters, registries, sources and policies that do not exist.

    The store must be of this hub alone, and the client may list all namespaces.
    """
    try:
        writes = [each async for each in _plan(state, api, clock)]
        if writes:
            await state.commit(writes)
    except (ApiError, ClientError, HubStateError) as error:
        _log.warning("cannot remove what is left of deleted objects", error=str(error))


async def _plan(state: StateStore, api: Api, clock: Clock) -> AsyncIterator[Write]:
    now = clock.now()
    for name in await _find_gone(state, keys.CLUSTERS, api, ClusterConnection, _get_name):
        found = await state.list_keys(f"cluster:{name}:")
        for write in cluster_writes.plan_deletion(name, found, now):
            yield write
    for name in await _find_gone(state, keys.REGISTRIES, api, RegistryConnection, _get_name):
        found = await state.list_keys(f"registry:{name}:")
        for write in registry_writes.plan_deletion(name, found, now):
            yield write
    for identity in await _find_gone(state, keys.SOURCES, api, MetricSource, _get_source):
        namespace, _, name = identity.partition("/")
        found = source_writes.find_collections(await state.list_keys("cluster:"), identity)
        for write in source_writes.plan_deletion(
            namespace, name, found=found, resource_type="", at=now
        ):
            yield write
        for index in await state.list_keys(_TYPES):
            yield RemoveMembers(index, (identity,))
    for key in await _find_gone(state, keys.POLICIES, api, MonitorAccessPolicy, _get_policy):
        _, namespace, name = key.split(":", 2)
        before = _decode(await state.get_fields(key))
        for write in policy_writes.plan_deletion(namespace, name, before, now):
            yield write


async def _find_gone(
    state: StateStore, index: str, api: Api, kind: type[Object], identify: Callable[[Key], str]
) -> list[str]:
    """The members of an index that have no object.

    The store is read before the API server, so that what is created meanwhile is not removed.
    """
    members = await state.get_members(index)
    return sorted(members - set(map(identify, await _list(api, kind)))) if members else []


def _get_name(key: Key) -> str:
    return key.name


def _get_source(key: Key) -> str:
    return keys.source_id(*key)


def _get_policy(key: Key) -> str:
    return keys.policy(*key)


async def _list(api: Api, kind: type[Object]) -> list[Key]:
    page = await api.list(ResourcePath(*kind.KIND.gvr), ListOptions(), form=Form.METADATA)
    heads = (msgspec.json.decode(each, type=_Head).metadata for each in page.items)
    return [Key(each.namespace, each.name) for each in heads]


def _decode(fields: Mapping[str, str]) -> CompiledPolicy | None:
    try:
        return msgspec.json.decode(fields["data"], type=CompiledPolicy)
    except (KeyError, msgspec.DecodeError):  # absent, or of another program
        return None
