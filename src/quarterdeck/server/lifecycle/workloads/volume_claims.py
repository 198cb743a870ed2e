"""The volume controller: creates a volume for each claim and binds it."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.server.lifecycle.engine.actions import Action, Create
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    delete,
    get_annotations,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    get_uid,
    is_deleting,
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


class VolumeClaims:
    """Binds claims to volumes, and creates volumes for claims."""

    name = "persistentvolume-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({CLAIMS, VOLUMES})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._pending: dict[StoreKey, None] = {}

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find claims and volumes to plan.

        A change of a volume triggers the claims without one, a deleted claim triggers all volumes.
        """
        if event.key.resource == CLAIMS and event.after is None:
            self._pending.pop(event.key, None)
            yield from index.list_resource(VOLUMES, "")
            return
        yield event.key
        if event.key.resource == VOLUMES:
            yield from tuple(self._pending)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Bind a claim, or release a volume."""
        value = view.get(key)
        if value is not None and key.resource == VOLUMES:
            return list(_reconcile_volume(view, value))
        if value is None or is_deleting(value):
            self._pending.pop(key, None)
            return ()
        if get_status(value).get("phase") == "Bound":
            self._pending.pop(key, None)
            return ()
        self._pending[key] = None
        return list(_bind(view, value))


def _bind(view: View, claim: Object) -> Iterator[Action]:
    chosen = get_spec(claim).get("volumeName")
    if chosen:
        volume = view.get(StoreKey(VOLUMES, "", chosen))
    else:
        volume = next((each for each in view.list_few(VOLUMES) if _is_suitable(each, claim)), None)
    if volume is not None:
        if (get_spec(volume).get("claimRef") or {}).get("uid", get_uid(claim)) != get_uid(claim):
            return
        yield from _bind_volume(volume, claim)
        yield _bind_claim(claim, volume)
    elif not chosen and get_spec(claim).get("storageClassName") != "":
        volume = _build_volume(claim)
        yield Create(VOLUMES, volume)
        yield _bind_claim(claim, volume)


def _bind_claim(claim: Object, volume: Object) -> Action:
    notes = {**get_annotations(claim), **_BOUND}
    capacity = get_spec(volume).get("capacity") or {}
    modes = get_spec(volume).get("accessModes") or []
    return update(
        CLAIMS,
        claim,
        "status",
        metadata={"annotations": notes},
        spec={**get_spec(claim), "volumeName": get_name(volume)},
        status={"phase": "Bound", "accessModes": modes, "capacity": capacity},
    )


def _bind_volume(volume: Object, claim: Object) -> Iterator[Action]:
    is_known = (get_spec(volume).get("claimRef") or {}).get("uid") == get_uid(claim)
    if is_known and get_status(volume).get("phase") == "Bound":
        return
    yield update(
        VOLUMES,
        volume,
        spec={**get_spec(volume), "claimRef": _build_reference(claim)},
        status={**get_status(volume), "phase": "Bound"},
    )


def _is_suitable(volume: Object, claim: Object) -> bool:
    """Whether an existing volume satisfies a claim."""
    reference = get_spec(volume).get("claimRef")
    if reference is not None:
        return bool(reference.get("uid") == get_uid(claim)) or (
            not reference.get("uid")
            and (reference.get("namespace"), reference.get("name"))
            == (get_namespace(claim), get_name(claim))
        )
    if is_deleting(volume) or get_status(volume).get("phase") not in (None, "", "Available"):
        return False
    if (get_spec(volume).get("storageClassName") or "") != (
        get_spec(claim).get("storageClassName") or ""
    ):
        return False
    wanted = set(get_spec(claim).get("accessModes") or ())
    if not wanted <= set(get_spec(volume).get("accessModes") or ()):
        return False
    return _get_size(get_spec(volume).get("capacity")) >= _get_size(
        (get_spec(claim).get("resources") or {}).get("requests")
    )


def _get_size(amounts: Object | None) -> Quantity:
    try:
        return Quantity.parse(str((amounts or {}).get("storage") or "0"))
    except QuantityError:
        return Quantity.of(0)


def _build_volume(claim: Object) -> Object:
    requests = (get_spec(claim).get("resources") or {}).get("requests") or {}
    volume_name = f"pvc-{get_uid(claim)}"
    return {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": volume_name, "annotations": {_PROVISIONER: "true"}},
        "spec": {
            "capacity": {"storage": requests.get("storage") or "1Gi"},
            "accessModes": get_spec(claim).get("accessModes") or ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": get_spec(claim).get("storageClassName") or "",
            "volumeMode": get_spec(claim).get("volumeMode") or "Filesystem",
            "hostPath": {"path": f"/simulated/{volume_name}"},
            "claimRef": _build_reference(claim),
        },
    }


def _build_reference(claim: Object) -> Object:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": get_namespace(claim),
        "name": get_name(claim),
        "uid": get_uid(claim),
    }


def _is_deleted_with_claim(volume: Object) -> bool:
    policy = get_spec(volume).get("persistentVolumeReclaimPolicy")
    return policy == "Delete" and _PROVISIONER in get_annotations(volume)


def _reconcile_volume(view: View, volume: Object) -> Iterator[Action]:
    """Reconcile the phase of a volume; one that was provisioned for a claim is deleted with it."""
    reference = get_spec(volume).get("claimRef")
    if reference is None or not reference.get("uid"):
        phase = "Available"
    else:
        home, called = reference.get("namespace") or "", reference.get("name") or ""
        found = view.get_object_meta(StoreKey(CLAIMS, home, called))
        is_there = found is not None and found.uid == reference.get("uid")
        phase = "Bound" if is_there else "Released"
    if get_status(volume).get("phase") != phase:
        yield update(VOLUMES, volume, "status", status={**get_status(volume), "phase": phase})
    elif phase == "Released" and _is_deleted_with_claim(volume) and not is_deleting(volume):
        yield delete(VOLUMES, volume)
