"""PersistentVolumeClaims: bound to a volume that is made for them."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.server.lifecycle.engine.actions import Action, Create
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    annotations,
    delete,
    is_deleting,
    name,
    namespace,
    spec,
    status,
    uid,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
_PROVISIONER = "simulate.quarterdeck.dev/provisioner"
_BOUND = {
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
}


class Claims:
    """Gives every claim a volume."""

    name = "persistentvolume-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({CLAIMS, VOLUMES})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._pending: dict[StoreKey, None] = {}

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Every claim and volume; claims that found none look again when a volume comes."""
        if event.key.resource == CLAIMS and event.after is None:
            self._pending.pop(event.key, None)
            yield from index.listed(VOLUMES, "")
            return
        yield event.key
        if event.key.resource == VOLUMES:
            yield from tuple(self._pending)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Bind a claim, or release a volume."""
        value = view.get(key)
        if value is not None and key.resource == VOLUMES:
            return list(_look_after(view, value))
        if value is None or is_deleting(value):
            self._pending.pop(key, None)
            return ()
        if status(value).get("phase") == "Bound":
            self._pending.pop(key, None)
            return ()
        self._pending[key] = None
        return list(_bind(view, value))


def _bind(view: View, claim: Object) -> Iterator[Action]:
    chosen = spec(claim).get("volumeName")
    if chosen:
        volume = view.get(StoreKey(VOLUMES, "", chosen))
    else:
        volume = next((each for each in view.few(VOLUMES) if _fits(each, claim)), None)
    if volume is not None:
        if (spec(volume).get("claimRef") or {}).get("uid", uid(claim)) != uid(claim):
            return
        yield from _take(volume, claim)
        yield _bound(claim, volume)
    elif not chosen and spec(claim).get("storageClassName") != "":
        volume = _new_volume(claim)
        yield Create(VOLUMES, volume)
        yield _bound(claim, volume)


def _bound(claim: Object, volume: Object) -> Action:
    notes = {**annotations(claim), **_BOUND}
    capacity = spec(volume).get("capacity") or {}
    modes = spec(volume).get("accessModes") or []
    return update(
        CLAIMS,
        claim,
        "status",
        metadata={"annotations": notes},
        spec={**spec(claim), "volumeName": name(volume)},
        status={"phase": "Bound", "accessModes": modes, "capacity": capacity},
    )


def _take(volume: Object, claim: Object) -> Iterator[Action]:
    is_known = (spec(volume).get("claimRef") or {}).get("uid") == uid(claim)
    if is_known and status(volume).get("phase") == "Bound":
        return
    yield update(
        VOLUMES,
        volume,
        spec={**spec(volume), "claimRef": _reference(claim)},
        status={**status(volume), "phase": "Bound"},
    )


def _fits(volume: Object, claim: Object) -> bool:
    """Whether a volume that somebody made is what a claim asks for."""
    reference = spec(volume).get("claimRef")
    if reference is not None:
        return bool(reference.get("uid") == uid(claim)) or (
            not reference.get("uid")
            and (reference.get("namespace"), reference.get("name"))
            == (namespace(claim), name(claim))
        )
    if is_deleting(volume) or status(volume).get("phase") not in (None, "", "Available"):
        return False
    if (spec(volume).get("storageClassName") or "") != (spec(claim).get("storageClassName") or ""):
        return False
    wanted = set(spec(claim).get("accessModes") or ())
    if not wanted <= set(spec(volume).get("accessModes") or ()):
        return False
    return _size(spec(volume).get("capacity")) >= _size(
        (spec(claim).get("resources") or {}).get("requests")
    )


def _size(amounts: Object | None) -> Quantity:
    try:
        return Quantity.parse(str((amounts or {}).get("storage") or "0"))
    except QuantityError:
        return Quantity.of(0)


def _new_volume(claim: Object) -> Object:
    requests = (spec(claim).get("resources") or {}).get("requests") or {}
    volume_name = f"pvc-{uid(claim)}"
    return {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": volume_name, "annotations": {_PROVISIONER: "true"}},
        "spec": {
            "capacity": {"storage": requests.get("storage") or "1Gi"},
            "accessModes": spec(claim).get("accessModes") or ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec(claim).get("storageClassName") or "",
            "volumeMode": spec(claim).get("volumeMode") or "Filesystem",
            "hostPath": {"path": f"/simulated/{volume_name}"},
            "claimRef": _reference(claim),
        },
    }


def _reference(claim: Object) -> Object:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": namespace(claim),
        "name": name(claim),
        "uid": uid(claim),
    }


def _goes_along(volume: Object) -> bool:
    policy = spec(volume).get("persistentVolumeReclaimPolicy")
    return policy == "Delete" and _PROVISIONER in annotations(volume)


def _look_after(view: View, volume: Object) -> Iterator[Action]:
    """A volume is available, bound or released; one that was made for a claim goes with it."""
    reference = spec(volume).get("claimRef")
    if reference is None or not reference.get("uid"):
        phase = "Available"
    else:
        home, called = reference.get("namespace") or "", reference.get("name") or ""
        found = view.facts(StoreKey(CLAIMS, home, called))
        is_there = found is not None and found.uid == reference.get("uid")
        phase = "Bound" if is_there else "Released"
    if status(volume).get("phase") != phase:
        yield update(VOLUMES, volume, "status", status={**status(volume), "phase": phase})
    elif phase == "Released" and _goes_along(volume) and not is_deleting(volume):
        yield delete(VOLUMES, volume)
