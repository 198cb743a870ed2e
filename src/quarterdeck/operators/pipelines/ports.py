"""The calls of a fleet server that the operator uses, and their errors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from quarterdeck.telemetry.attributes import merge_attributes
from quarterdeck.telemetry.fleet.codes import Code

Message = Mapping[str, Any]
"""A message with the names of proto JSON."""
HIDDEN_MESSAGE = "its message is hidden, because it may contain text of a Secret"
"""Shown instead of the message of a collector."""


class CallFailed(Exception):
    """Raised when a call did not succeed; decisions are made by `code`, never by a status line."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        operation: str = "",
        retry_after_s: float | None = None,
        is_quoted: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.operation = operation
        self.retry_after_s = retry_after_s
        self.is_quoted = is_quoted
        """Whether the message is that of the server, which may repeat what was sent."""

    def __str__(self) -> str:
        lead = f"{self.operation}: " if self.operation else ""
        return f"{lead}{self.message} ({self.code.value})"


class Paused(Exception):
    """Raised when the server asked for a pause; carries the seconds that are left of it."""

    def __init__(self, left_s: float) -> None:
        super().__init__(f"rate limited by the fleet server for another {left_s:.1f} s")
        self.left_s = left_s


class Remote(NamedTuple):
    """A pipeline as the server has it."""

    id: str
    name: str
    contents: str = ""
    matchers: tuple[str, ...] = ()
    enabled: bool = True
    config_type: str = "CONFIG_TYPE_ALLOY"
    source_type: str = ""
    source_namespace: str = ""
    owner: str = ""
    """The UID of the object it was written for, if an operator of this kind wrote it."""
    created_at: str = ""
    updated_at: str = ""
    rollout: Message | None = None
    """The candidate that some collectors receive, on a server that supports rollouts."""
    is_secret: bool = False
    """Whether the contents are marked as those of a Secret."""

    def has_source(self, source: Mapping[str, str]) -> bool:
        """Whether the pipeline has this source: `type` and `namespace` as in the server's API."""
        return self.source_type == source["type"] and self.source_namespace == source["namespace"]


class RemoteCollector(NamedTuple):
    """A collector as the server has it."""

    id: str
    name: str = ""
    enabled: bool = True
    type: str = "COLLECTOR_TYPE_ALLOY"
    local: Mapping[str, str] = {}
    remote: Mapping[str, str] = {}
    created_at: str = ""
    updated_at: str = ""
    marked_inactive_at: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that matchers are compared with."""
        return merge_attributes(self.id, self.local, self.remote)

    @property
    def is_otel(self) -> bool:
        """Whether it runs OpenTelemetry configuration."""
        return self.type == "COLLECTOR_TYPE_OTEL"


class RemoteRevision(NamedTuple):
    """A past state of a pipeline."""

    id: str
    operation: str
    created_at: str
    snapshot: Remote


class PartDelivery(NamedTuple):
    """What collectors report about one text of a pipeline."""

    digest: str
    assigned: int = 0
    applied: int = 0
    applying: int = 0
    failed: int = 0
    stale: int = 0
    failures: tuple[str, ...] = ()
    """The id and the message of collectors that failed."""

    def hide_messages(self) -> "PartDelivery":
        """The same without the messages of collectors, which may repeat the text."""
        ids = (each.partition(": ")[0] for each in self.failures)
        return self._replace(failures=tuple(f"{each}: {HIDDEN_MESSAGE}" for each in ids))


class PipelineDelivery(NamedTuple):
    """What collectors report about a pipeline, text by text."""

    id: str
    parts: tuple[PartDelivery, ...] = ()
    conflicts: tuple[str, ...] = ()

    def get(self, digest: str) -> PartDelivery:
        """What they report about one text."""
        return next((each for each in self.parts if each.digest == digest), PartDelivery(digest))


class Deliveries(NamedTuple):
    """What the collectors of a server report about each pipeline."""

    pipelines: Mapping[str, PipelineDelivery]
    can_roll_out: bool = False
    """Whether the server supports rollouts: it chooses the collectors of a candidate itself."""


class CollectorState(NamedTuple):
    """The last state that a collector reported."""

    id: str
    last_seen: str = ""
    status: str = ""
    error_message: str = ""
    pipelines: tuple[str, ...] = ()
    """Names of the pipelines that it should run."""


class FleetApi(Protocol):
    """The calls the operator makes; each may raise `CallFailed`, or `Paused` in a pause."""

    async def create(self, message: Message, *, validate_only: bool = False) -> Remote:
        """Make a pipeline; `already_exists` if the name is taken."""
        ...

    async def update(self, message: Message, *, validate_only: bool = False) -> Remote:
        """Replace a pipeline by its id; `not_found` if it is gone."""
        ...

    async def delete(self, identity: str) -> None:
        """Remove a pipeline; `not_found` if it is gone."""
        ...

    async def find(self, name: str) -> Remote | None:
        """The pipeline of a name."""
        ...

    async def get(self, identity: str) -> Remote:
        """The pipeline of an id; `not_found` if there is none."""
        ...

    async def list_all_revisions(self) -> Sequence[RemoteRevision]:
        """The revisions of every pipeline without contents, oldest first."""
        ...

    async def list_collectors(self, matchers: Sequence[str] = ()) -> Sequence[RemoteCollector]:
        """Every collector that satisfies the matchers."""
        ...

    async def get_collector(self, identity: str) -> RemoteCollector | None:
        """One collector; None if it has not registered."""
        ...

    async def update_collector(self, message: Message) -> None:
        """Replace name, switch and remote attributes of a collector."""
        ...

    async def update_attributes(
        self, identities: Sequence[str], operations: Sequence[Message]
    ) -> None:
        """Change remote attributes of collectors, all or none."""
        ...

    async def list_revisions(self, identity: str) -> Sequence[RemoteRevision]:
        """The revisions of one pipeline with contents, oldest first."""
        ...

    async def sync(
        self, source: Mapping[str, str], pipelines: Sequence[Message], *, allow_empty: bool = False
    ) -> None:
        """Upsert all pipelines of a source, and delete those it no longer lists, at once."""
        ...

    async def get_deliveries(self) -> Deliveries:
        """What collectors report about pipelines; `unimplemented` if the server lacks the call."""
        ...

    async def get_collector_states(self) -> Mapping[str, CollectorState]:
        """What each collector reported; `unimplemented` if the server lacks the call."""
        ...

    async def list(self) -> Sequence[Remote]:
        """Every pipeline."""
        ...
