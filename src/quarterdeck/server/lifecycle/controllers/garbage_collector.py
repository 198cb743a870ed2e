"""The garbage collector: deletes objects whose owners are deleted.

An owner is *solid* if it is there, under the name and with the uid that its dependent says, and
does not wait for its dependents in turn. An object whose owners are all gone is deleted; one with
a solid owner loses the references to the others. A foreground deletion waits until every dependent
that blocks it is gone; an orphaning one lets go of all of them first.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from quarterdeck.server.lifecycle.engine.actions import Action, Delete, Record, Update
from quarterdeck.server.lifecycle.engine.index import Index, is_linked
from quarterdeck.server.lifecycle.engine.objects import update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.deletion import FOREGROUND, ORPHAN
from quarterdeck.server.registry.object_meta import ObjectMeta, OwnerReference, get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

_COMPONENT = "garbage-collector-controller"
_MAX_ORPHANED_BYTES = 1024 * 1024
"""Dependents that one plan lets go of, by the size of what it decodes for that."""


class GarbageCollector:
    """The garbage collector, one plan per object."""

    name = "garbage-collector"
    manager = "kube-controller-manager"
    resources = None
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the object if its owners changed, its dependents and waiting owners if it ended."""
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
        """What to do about one object, as an owner that ends or as a dependent."""
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
        if (key := index.find_ending(owner.uid)) is not None:
            yield key


# owners ------------------------------------------------------------------------------------------


def _plan_foreground(view: View, key: StoreKey, object_meta: ObjectMeta) -> Iterator[Action]:
    if not _is_blocked(view, key, object_meta):
        yield from _without_finalizer(view, key, FOREGROUND)


def _is_blocked(view: View, key: StoreKey, object_meta: ObjectMeta) -> bool:
    """Whether an owner must wait for dependents; not if they all wait for it in turn."""
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
    """Whether an object is kept by nothing but its own dependents."""
    return _is_deleted_in_foreground(object_meta) and object_meta.finalizers == (FOREGROUND,)


def _blocks_owner(dependent: ObjectMeta, uid: str) -> bool:
    return any(
        owner.uid == uid and owner.block_owner_deletion
        for owner in dependent.owner_references or ()
    )


def _plan_orphaning(view: View, key: StoreKey, object_meta: ObjectMeta) -> Iterator[Action]:
    """Let go of the dependents, a few at a time: their events bring us back for the others."""
    size = 0
    for dependent in view.index.list_owned(object_meta.uid):
        if size > _MAX_ORPHANED_BYTES:
            return
        size += view.get_size(dependent)
        yield from _without_owners(view, dependent, {object_meta.uid})
    yield from _without_finalizer(view, key, ORPHAN)


def _without_finalizer(view: View, key: StoreKey, finalizer: str) -> Iterator[Update]:
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
    """Owners of an unknown kind, or that cannot own this: the dependent is left alone."""


def _plan_dependent(view: View, key: StoreKey, object_meta: ObjectMeta) -> Iterator[Action]:
    if not object_meta.owner_references:
        return
    owners = _sort(view, key, object_meta.owner_references)
    yield from _plan_reports(view, key, owners)
    if owners.solid:
        if surplus := {each.uid for each in (*owners.dangling, *owners.waiting)}:
            yield from _without_owners(view, key, surplus)
        return
    if owners.unknown:
        return
    if owners.waiting and view.index.has_owned(object_meta.uid):
        if any(
            _is_deleted_in_foreground(view.get_object_meta(each))
            for each in view.index.list_owned(object_meta.uid)
        ):
            yield from _plan_unblock(view, key)
        yield Delete(key=key, uid=object_meta.uid, policy="Foreground")
        return
    # keeps a policy that was requested by a finalizer
    yield Delete(
        key=key, uid=object_meta.uid, policy=None if _is_held(object_meta) else "Background"
    )


def _sort(view: View, key: StoreKey, references: Iterable[OwnerReference]) -> _Owners:
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


def _without_owners(view: View, key: StoreKey, uids: set[str]) -> Iterator[Update]:
    value = view.get(key)
    if value is not None:
        references = value["metadata"].get("ownerReferences") or ()
        kept = [each for each in references if each.get("uid") not in uids]
        yield update(key.resource, value, metadata={"ownerReferences": kept or None})


def _plan_unblock(view: View, key: StoreKey) -> Iterator[Update]:
    """Breaks a cycle: the object no longer keeps its owners waiting."""
    value = view.get(key)
    if value is not None:
        references = value["metadata"].get("ownerReferences") or ()
        if any(each.get("blockOwnerDeletion") for each in references):
            free = [{**each, "blockOwnerDeletion": False} for each in references]
            yield update(key.resource, value, metadata={"ownerReferences": free})


def _plan_reports(view: View, key: StoreKey, owners: _Owners) -> Iterator[Record]:
    """Tell of references across namespaces, which are a mistake that costs the object."""
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
