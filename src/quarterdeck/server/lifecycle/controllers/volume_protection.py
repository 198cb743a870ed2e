"""Removes the protection finalizers of deleted claims and volumes that are not in use.

Admission adds the finalizers. The finalizer of a claim is removed when no running pod mounts it,
that of a volume when it is not bound.
"""

from collections.abc import Iterator, Sequence

import msgspec

from quarterdeck.server.lifecycle.engine.actions import Action
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_spec, get_status, is_deleting, update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
PODS = "pods"
_FINALIZERS = {CLAIMS: "kubernetes.io/pvc-protection", VOLUMES: "kubernetes.io/pv-protection"}


class VolumeProtection:
    """Removes the finalizer of deleted claims and volumes that are not in use."""

    name = "volume-protection"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({CLAIMS, VOLUMES, PODS})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find claims and volumes that are being deleted, and the claims of deleted pods."""
        if event.key.resource != PODS:
            if (
                event.after is not None
                and get_object_meta(event.after).deletion_timestamp is not None
            ):
                yield event.key
        elif event.after is None and event.before is not None:
            for name in _decode_claims(event.before.value):
                yield StoreKey(CLAIMS, event.key.namespace, name)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Remove the finalizer of a deleted claim or volume if it is not in use."""
        value = view.get(key)
        if value is None or not is_deleting(value):
            return ()
        finalizers = value["metadata"].get("finalizers") or []
        kept = [each for each in finalizers if each != _FINALIZERS[key.resource]]
        if kept == finalizers or _is_used(view, key, value):
            return ()
        return [update(key.resource, value, metadata={"finalizers": kept or None})]


class _Claim(msgspec.Struct, frozen=True, rename={"name": "claimName"}):
    name: str = ""


class _Volume(msgspec.Struct, frozen=True, rename={"claim": "persistentVolumeClaim"}):
    claim: _Claim | None = None


class _Spec(msgspec.Struct, frozen=True):
    volumes: tuple[_Volume, ...] | None = None


class _Pod(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_decode_pod = msgspec.json.Decoder(_Pod).decode


def _decode_claims(value: bytes) -> Iterator[str]:
    """Decode only the claim names of a stored pod: this runs in the commit of each deletion."""
    for volume in _decode_pod(value).spec.volumes or ():
        if volume.claim is not None:
            yield volume.claim.name


def _is_used(view: View, key: StoreKey, value: Object) -> bool:
    if key.resource == VOLUMES:
        return get_status(value).get("phase") == "Bound"
    return any(
        key.name in _list_claims(pod) and _is_running(pod) for pod in view.list(PODS, key.namespace)
    )


def _is_running(pod: Object) -> bool:
    finished = get_status(pod).get("phase") in ("Succeeded", "Failed")
    return bool(get_spec(pod).get("nodeName")) and not finished


def _list_claims(pod: Object) -> list[str]:
    return [
        volume["persistentVolumeClaim"].get("claimName", "")
        for volume in get_spec(pod).get("volumes") or ()
        if volume.get("persistentVolumeClaim")
    ]
