"""The stored records: pipelines, their revisions and collectors. Frozen."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.telemetry.attributes import merge_attributes
from quarterdeck.telemetry.matchers import Matcher, parse_all

ALLOY = "CONFIG_TYPE_ALLOY"
OTEL = "CONFIG_TYPE_OTEL"


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One pipeline as the API shows it; `revision` counts its changes."""

    id: str
    name: str
    contents: str
    matchers: tuple[str, ...] = ()
    enabled: bool = True
    config_type: str = ALLOY
    source: Mapping[str, str] | None = None
    metadata: Mapping[str, Any] | None = None
    created_at: str = ""
    updated_at: str = ""
    revision: int = 1

    def parse_matchers(self) -> tuple[Matcher, ...]:
        """Its matchers; they were checked before it was stored."""
        return parse_all(self.matchers)

    def to_message(self) -> dict[str, Any]:
        """The `Pipeline` message."""
        found: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "contents": self.contents,
            "matchers": list(self.matchers),
            "enabled": self.enabled,
            "configType": self.config_type,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }
        if self.source is not None:
            found["source"] = dict(self.source)
        if self.metadata is not None:
            found["metadata"] = dict(self.metadata)
        return found


class Revision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A pipeline as it was after one change."""

    revision_id: str
    operation: str
    created_at: str
    snapshot: Pipeline

    def to_message(self, *, with_contents: bool) -> dict[str, Any]:
        """The `PipelineRevision` message."""
        snapshot = self.snapshot.to_message()
        if not with_contents:
            del snapshot["contents"]
        return {
            "revisionId": self.revision_id,
            "operation": self.operation,
            "createdAt": self.created_at,
            "snapshot": snapshot,
        }


class Collector(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One collector: what it reported, what was set for it, and the state of its configuration."""

    id: str
    name: str = ""
    local_attributes: Mapping[str, str] = {}
    remote_attributes: Mapping[str, str] = {}
    enabled: bool = True
    collector_type: str = "COLLECTOR_TYPE_ALLOY"
    created_at: str = ""
    updated_at: str = ""
    marked_inactive_at: str = ""
    last_seen: str = ""
    served_hash: str = ""
    served: tuple[str, ...] = ()
    """The parts of what it was last served: the id and the digest of each pipeline's text."""
    applied: tuple[str, ...] = ()
    """The parts of what it last reported as applied."""
    status: str = ""
    error_message: str = ""
    reported: str = ""
    """The last status it sent; agents send only what changed."""
    reported_error: str = ""

    def get_effective_attributes(self) -> dict[str, str]:
        """The attributes that matchers use: remote wins over local, except for reserved names."""
        return merge_attributes(self.id, self.local_attributes, self.remote_attributes)

    def to_message(self) -> dict[str, Any]:
        """The `Collector` message."""
        found: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "localAttributes": dict(self.local_attributes),
            "remoteAttributes": dict(self.remote_attributes),
            "enabled": self.enabled,
            "collectorType": self.collector_type,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }
        if self.marked_inactive_at:
            found["markedInactiveAt"] = self.marked_inactive_at
        return found
