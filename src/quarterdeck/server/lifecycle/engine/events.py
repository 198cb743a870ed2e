"""Events that plans record, as objects. Pure."""

import hashlib

from quarterdeck.server.lifecycle.engine.actions import Record
from quarterdeck.server.registry.resource import Object


def build_event(action: Record, now: str) -> Object:
    """Build the Event of a record; a repeated record has the same name, so that it is counted."""
    involved = _build_reference(action.about, action.field_path)
    source = {"component": action.component}
    if action.host:
        source["host"] = action.host
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": f"{action.about['metadata']['name']}.{_compute_digest(action, involved)}",
            "namespace": involved.get("namespace") or "default",
        },
        "involvedObject": involved,
        "reason": action.reason,
        "message": action.message,
        "source": source,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": "Warning" if action.is_warning else "Normal",
        "eventTime": None,
        "reportingComponent": action.component,
        "reportingInstance": action.host,
    }


def _build_reference(about: Object, field_path: str) -> Object:
    """Build the `involvedObject` of an event."""
    metadata = about["metadata"]
    reference = {
        "kind": about.get("kind"),
        "namespace": metadata.get("namespace"),
        "name": metadata.get("name"),
        "uid": metadata.get("uid"),
        "apiVersion": about.get("apiVersion"),
        "resourceVersion": metadata.get("resourceVersion"),
        "fieldPath": field_path,
    }
    return {name: text for name, text in reference.items() if text}


def _compute_digest(action: Record, involved: Object) -> str:
    """Hash the content of an event, so that a repeated event is counted."""
    parts = (involved.get("uid") or "", action.reason, action.message, action.component)
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
