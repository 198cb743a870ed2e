"""ResourceQuota: refuses writes that exceed a quota, and charges the others.

As in Kubernetes, the quota is charged before the object is stored. Both are decided in one step of
the event loop, so a burst of writes cannot exceed a quota. If the object is refused later, the
change of the quota makes its controller count again.
"""

from collections.abc import Callable, Sequence

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.attributes import AdmissionAttributes, is_resize
from quarterdeck.server.admission.quota.check import Charge, QuotaExceeded, compute_charges
from quarterdeck.server.admission.quota.usage import is_charged
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreEvent, StoreKey
from quarterdeck.wire.status import Forbidden

QUOTAS = "resourcequotas"
Track = Callable[[Object, Object], Object]
"""Takes the old and the new quota; returns the new one with `managedFields` updated."""


class ResourceQuota:
    """Refuses writes that exceed a quota, and adds the usage of other writes to the quotas."""

    def __init__(self, store: Store, track: Track | None = None) -> None:
        """`track` records the server as field manager of its writes to a quota."""
        self._store = store
        self._track = track
        self._keys: dict[str, set[StoreKey]] = {}
        """The quotas of each namespace; a write to a namespace without quotas costs one look-up."""
        for entry in store.snapshot().range(QUOTAS, None):
            self._keys.setdefault(entry.key.namespace, set()).add(entry.key)
        store.subscribe(self._apply_events)

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Do nothing; quotas are checked in `validate`, with the final object."""

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse a write that exceeds a quota; add its usage to the quotas otherwise.

        Raises:
            Forbidden: if a quota has no room.
        """
        keys = self._keys.get(attributes.namespace)
        if not keys or attributes.value is None:
            return
        gvr = attributes.resource.gvr
        resource = gvr.group_resource
        can_charge = not attributes.subresource and is_charged(resource, attributes.verb)
        if not can_charge and not is_resize(attributes):
            return
        old = attributes.old if attributes.verb == "update" else None
        try:
            found = compute_charges(resource, attributes.value, old, self._load_quotas(keys))
        except QuotaExceeded as refusal:
            name = _get_name(attributes)
            raise Forbidden.of(gvr.resource, name, str(refusal), group=gvr.group) from refusal
        if not attributes.is_dry_run:
            for charge in found:
                self._put(charge)

    def _load_quotas(self, keys: set[StoreKey]) -> list[Object]:
        entries = (self._store.get_pending(key) for key in sorted(keys))
        return [kit_json.decode(entry.value) for entry in entries if entry is not None]

    def _put(self, charge: Charge) -> None:
        metadata = charge.quota["metadata"]
        status = {**(charge.quota.get("status") or {}), "used": charge.used}
        value = {**charge.quota, "metadata": dict(metadata), "status": status}
        key = StoreKey(QUOTAS, metadata.get("namespace", ""), metadata["name"])
        if self._track is not None:
            value = self._track(charge.quota, value)
        self._store.put(key, build_encoder(value), expected=int(metadata["resourceVersion"]))

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            if event.key.resource != QUOTAS:
                continue
            if event.after is not None:
                self._keys.setdefault(event.key.namespace, set()).add(event.key)
            elif (known := self._keys.get(event.key.namespace)) is not None:
                known.discard(event.key)
                if not known:
                    del self._keys[event.key.namespace]


def _get_name(attributes: AdmissionAttributes) -> str:
    metadata = (attributes.value or {}).get("metadata") or {}
    return attributes.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
