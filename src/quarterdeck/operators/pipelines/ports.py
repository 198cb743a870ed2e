"""The calls of a fleet server that the operator uses, and their errors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from quarterdeck.telemetry.fleet.codes import Code

Message = Mapping[str, Any]
"""A message with the names of proto JSON."""


class CallFailed(Exception):
    """Raised when a call did not succeed; decisions are made by `code`, never by a status line."""

    def __init__(
        self, code: Code, message: str, *, operation: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.operation = operation
        self.retry_after_s = retry_after_s

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

    async def revisions(self) -> Mapping[str, str]:
        """The newest revision of each pipeline, by the pipeline's id."""
        ...

    async def list(self) -> Sequence[Remote]:
        """Every pipeline."""
        ...
