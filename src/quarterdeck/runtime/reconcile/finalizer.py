"""Finalizers as steps: what has to be done before an object is deleted.

Each step runs while its name is in the object; when it returns, the name is taken out and
the next one runs. A step that is not finished raises `Waiting` and is called again.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.reconcile.client import ReconcileClient
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.wire.status import Conflict, Invalid, NotFound

T = TypeVar("T", bound=Object)

_TRIES = 5


class Finalizer(NamedTuple, Generic[T]):
    """One step of a clean-up, by its name in `metadata.finalizers`.

    A NamedTuple, because for a wrong argument of it mypy names the argument; for a struct it names
    only the Controller.
    """

    name: str
    run: Callable[[T, Context[T]], Awaitable[None]]
    """`async def run(obj, ctx)`; must be idempotent."""


async def ensure(obj: T, api: ReconcileClient, names: Sequence[str]) -> T | None:
    """Add our finalizers before anything is done that needs a clean-up.

    An object whose deletion has begun meanwhile is returned without them: the server refuses them.
    Returns None if it was deleted meanwhile.
    """
    if all(name in obj.metadata.finalizers for name in names):
        return obj

    def add(newest: T) -> Sequence[str]:
        present = newest.metadata.finalizers
        missing = () if newest.is_deleting else [name for name in names if name not in present]
        return (*present, *missing)

    return await _write(obj, api, add)


async def remove(obj: T, api: ReconcileClient, name: str) -> T | None:
    """Remove a finalizer; None if the object was deleted meanwhile."""
    return await _write(
        obj, api, lambda newest: [each for each in newest.metadata.finalizers if each != name]
    )


async def _write(obj: T, api: ReconcileClient, change: Callable[[T], Sequence[str]]) -> T | None:
    """Change the list under a version precondition; read the object again on a conflict."""
    kind, key, uid = type(obj), obj.key, obj.metadata.uid
    try:
        for _ in range(_TRIES - 1):
            try:
                return await _patch(obj, api, change)
            except (Conflict, Invalid):
                obj = await api.get_live(kind, key)
                if obj.metadata.uid != uid:
                    return None
        return await _patch(obj, api, change)
    except NotFound:
        return None


async def _patch(obj: T, api: ReconcileClient, change: Callable[[T], Sequence[str]]) -> T:
    finalizers = list(change(obj))
    if finalizers == list(obj.metadata.finalizers):
        return obj
    patch = {"metadata": {"finalizers": finalizers or None}}
    key = Key(obj.metadata.namespace, obj.metadata.name)
    return await api.merge(type(obj), key, patch, obj.resource_version)
