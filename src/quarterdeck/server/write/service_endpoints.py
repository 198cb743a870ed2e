"""Deletes the Endpoints of a deleted Service.

Kubernetes does so in the request that deletes the Service, even if no controllers run.
"""

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GVR
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.deletion import begin_deletion
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.storage import RevisionConflict, StoreKey
from quarterdeck.wire.query import DeleteOptions

_SERVICES = "services"
_ENDPOINTS = GVR("", "v1", "endpoints")
_ATTEMPTS = 8


async def delete_endpoints(core: Core, call: Call) -> None:
    """Delete the Endpoints of the Service that a call has ended; nothing for other kinds."""
    resource = core.registry.get(_ENDPOINTS)
    if call.resource.stored_name != _SERVICES or resource is None:
        return
    context = core.build_context(call.user.name, call.path.namespace)
    key = StoreKey(resource.stored_name, call.path.namespace, call.path.name)
    for _ in range(_ATTEMPTS):
        entry = core.store.get_pending(key)
        if entry is None:
            return
        value: Object = kit_json.decode(entry.value)
        is_kept, is_changed = begin_deletion(resource, value, DeleteOptions(), context=context)
        encode = build_encoder(value)
        try:
            if not is_kept:
                await core.store.delete(key, encode, expected=entry.revision)
            elif is_changed:
                await core.store.put(key, encode, expected=entry.revision)
        except RevisionConflict:
            continue
        return
