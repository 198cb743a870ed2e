"""The garbage collector: deletes objects whose owners are deleted.

An owner is *solid* if it exists with the name and uid of the owner reference, and is not being
deleted in the foreground. An object without any existing owner is deleted; from one with a solid
owner the references to other owners are removed. A foreground deletion waits until all blocking
dependents are gone; with the policy Orphan all dependents lose their owner reference first.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from quarterdeck.server.lifecycle.engine.actions import Action, Delete, Policy, Record, Update
from quarterdeck.server.lifecycle.engine.index import Index, is_linked
from quarterdeck.server.lifecycle.engine.objects import update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.deletion import FOREGROUND, ORPHAN
from quarterdeck.server.registry.object_meta import ObjectMeta, OwnerReference, get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

_COMPONENT = "garbage-collector-controller"
_MAX_ORPHANED_BYTES = 1024 * 1024
"""Bytes of dependents that one plan decodes to remove their owner reference."""


class GarbageCollector:
    """The garbage collector, one plan per object."""

    name = "garbage-collector"
    manager = "kube-controller-manager"
    resources = None
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the object if its owners changed; its dependents and waiting owners if deleted."""
        if event.after is None:
            if event.before is not None:
                gone = get_object_meta(event.before)
                yield from index.list_owned(gone.uid)
                yield from _find_waiting_owners(gone.owner_references, index)
            return
        if not is_linked(event.after) and (event.before is None or not is_linked(event.before)):
            return
        before = get_object_meta(event.before) if event.before is not None else None
        after = get_object_meta(event.after)
        owners = None if before is None else before.owner_references
        if owners != after.owner_references:
            yield event.key
            yield from _find_waiting_owners(owners, index)
        if after.deletion_timestamp is not None and _is_held(after):
            yield event.key
            if before is None or not (_is_held(before) and before.deletion_timestamp):
                yield from index.list_owned(after.uid)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan one object: as an owner that is being deleted, else as a dependent."""
        object_meta = view.get_object_meta(key)
        if object_meta is None:
            return ()
        if object_meta.deletion_timestamp is None:
            return list(_plan_dependent(view, key, object_meta))
        finalizers = object_meta.finalizers or ()
        if ORPHAN in finalizers:
            return list(_plan_orphaning(view, key, object_meta))
        if FOREGROUND in finalizers:
            return list(_plan_foreground(view, key, object_meta))
        return ()


def _is_held(object_meta: ObjectMeta) -> bool:
    finalizers = object_meta.finalizers or ()
    return FOREGROUND in finalizers or ORPHAN in finalizers


def _find_waiting_owners(
    owners: Iterable[OwnerReference] | None, index: Index
) -> Iterator[StoreKey]:
    for owner in owners or ():
        if (key := index.find_deleting(owner.uid)) is not None:
            yield key


# owners ------------------------------------------------------------------------------------------


def _plan_foreground(view: View, key: StoreKey, object_meta: ObjectMeta) -> Iterator[Action]:
    if not _is_blocked(view, key, object_meta):
        yield from _remove_finalizer(view, key, FOREGROUND)


def _is_blocked(view: View, key: StoreKey, object_meta: ObjectMeta) -> bool:
    """Whether dependents block an owner; those in a cycle of foreground deletions do not."""
    is_cycle = has_blockers = False
    seen, open_ = {key}, [object_meta.uid]
    while open_:
        uid = open_.pop()
        for dependent in view.index.list_owned(uid):
            known = view.get_object_meta(dependent)
            if known is None or not _blocks_owner(known, uid):
                continue
            has_blockers = True
            if dependent == key:
                is_cycle = True
            elif not _is_kept_by_dependents(known):
                return True
            elif dependent not in seen:
                seen.add(dependent)
                open_.append(known.uid)
    return has_blockers and not is_cycle


def _is_kept_by_dependents(object_meta: ObjectMeta) -> bool:
    """Whether an object is deleted in the foreground and has no other finalizer."""
    return _is_deleted_in_foreground(object_meta) and object_meta.finalizers == (FOREGROUND,)


def _blocks_owner(dependent: ObjectMeta, uid: str) -> bool:
    return any(
        owner.uid == uid and owner.block_owner_deletion
        for owner in dependent.owner_references or ()
    )


def _plan_orphaning(view: View, key: StoreKey, object_meta: ObjectMeta) -> Iterator[Action]:
    """Orphan the dependents, a few at a time: their events trigger the plan for the others."""
    size = 0
    for dependent in view.index.list_owned(object_meta.uid):
        if size > _MAX_ORPHANED_BYTES:
            return
        size += view.get_size(dependent)
        yield from _remove_owners(view, dependent, {object_meta.uid})
    yield from _remove_finalizer(view, key, ORPHAN)


def _remove_finalizer(view: View, key: StoreKey, finalizer: str) -> Iterator[Update]:
    value = view.get(key)
    if value is not None:
        kept = [each for each in value["metadata"].get("finalizers") or () if each != finalizer]
        yield update(key.resource, value, metadata={"finalizers": kept or None})


# dependents --------------------------------------------------------------------------------------


class _Owners(NamedTuple):
    solid: list[OwnerReference]
    dangling: list[OwnerReference]
    waiting: list[OwnerReference]
    unknown: list[OwnerReference]
    """Owners of an unknown kind, and namespaced owners of a cluster-scoped dependent."""


def _plan_dependent(view: View, key: StoreKey, object_meta: ObjectMeta) -> Iterator[Action]:
    if not object_meta.owner_references:
        return
    owners = _classify_owners(view, key, object_meta.owner_references)
    yield from _plan_reports(view, key, owners)
    if owners.solid:
        if surplus := {each.uid for each in (*owners.dangling, *owners.waiting)}:
            yield from _remove_owners(view, key, surplus)
        return
    if owners.unknown:
        return
    if owners.waiting and view.index.has_owned(object_meta.uid):
        if any(
            _is_deleted_in_foreground(view.get_object_meta(each))
            for each in view.index.list_owned(object_meta.uid)
        ):
            yield from _plan_unblock(view, key)
        yield _delete(view, key, object_meta, "Foreground")
        return
    # keeps a policy that was requested by a finalizer
    yield _delete(view, key, object_meta, None if _is_held(object_meta) else "Background")


def _delete(view: View, key: StoreKey, object_meta: ObjectMeta, policy: Policy | None) -> Delete:
    """Delete an object as it was read: a client may have just given it another owner, or none."""
    return Delete(key=key, uid=object_meta.uid, policy=policy, revision=view.get_revision(key))


def _classify_owners(view: View, key: StoreKey, references: Iterable[OwnerReference]) -> _Owners:
    owners = _Owners([], [], [], [])
    for owner in references:
        served = view.serves(owner.api_version, owner.kind) if owner.api_version else None
        if served is None:
            (owners.dangling if view.index.is_gone(owner.uid) else owners.unknown).append(owner)
            continue
        if served.namespaced and not key.namespace:
            owners.unknown.append(owner)
            continue
        namespace = key.namespace if served.namespaced else ""
        found = view.get_object_meta(StoreKey(served.resource, namespace, owner.name))
        if found is None or found.uid != owner.uid:
            owners.dangling.append(owner)
        elif _is_deleted_in_foreground(found):
            owners.waiting.append(owner)
        else:
            owners.solid.append(owner)
    return owners


def _is_deleted_in_foreground(object_meta: ObjectMeta | None) -> bool:
    return (
        object_meta is not None
        and object_meta.deletion_timestamp is not None
        and FOREGROUND in (object_meta.finalizers or ())
    )


def _remove_owners(view: View, key: StoreKey, uids: set[str]) -> Iterator[Update]:
    value = view.get(key)
    if value is not None:
        references = value["metadata"].get("ownerReferences") or ()
        kept = [each for each in references if each.get("uid") not in uids]
        yield update(key.resource, value, metadata={"ownerReferences": kept or None})


def _plan_unblock(view: View, key: StoreKey) -> Iterator[Update]:
    """Set `blockOwnerDeletion` to false in all owner references, which breaks a cycle."""
    value = view.get(key)
    if value is not None:
        references = value["metadata"].get("ownerReferences") or ()
        if any(each.get("blockOwnerDeletion") for each in references):
            free = [{**each, "blockOwnerDeletion": False} for each in references]
            yield update(key.resource, value, metadata={"ownerReferences": free})


def _plan_reports(view: View, key: StoreKey, owners: _Owners) -> Iterator[Record]:
    """Record warnings about owners in other namespaces, which do not count as owners."""
    for owner in owners.unknown:
        served = view.serves(owner.api_version, owner.kind) if owner.api_version else None
        if served is not None:
            yield from _report(view, key, owner)
    for owner in owners.dangling:
        if view.index.is_gone(owner.uid):
            continue
        served = view.serves(owner.api_version, owner.kind)
        if served is not None and served.namespaced and _is_elsewhere(view, served[0], owner):
            yield from _report(view, key, owner)


def _is_elsewhere(view: View, resource: str, owner: OwnerReference) -> bool:
    return any(get_object_meta(entry).uid == owner.uid for entry in view.list_entries(resource))


def _report(view: View, key: StoreKey, owner: OwnerReference) -> Iterator[Record]:
    value: Object | None = view.get(key)
    if value is None:
        return
    shown = f"{owner.api_version}/{owner.kind}, namespace: {key.namespace}, name: {owner.name}"
    yield Record(
        about=value,
        reason="OwnerRefInvalidNamespace",
        message=(
            f'ownerRef [{shown}, uid: {owner.uid}] does not exist in namespace "{key.namespace}"'
        ),
        component=_COMPONENT,
        is_warning=True,
    )
