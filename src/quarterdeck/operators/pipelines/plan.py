"""Decides what to do about a pipeline, from spec, last result and cached state of the server.

Pure. A sync is skipped if the hash is unchanged, the last sync succeeded, and the server is not
known to have something else.
"""

from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineStatus
from quarterdeck.meta.conditions import TRUE, find
from quarterdeck.operators.pipelines import drift
from quarterdeck.operators.pipelines.conditions import PERMANENT, SYNCED, Reason
from quarterdeck.operators.pipelines.desired import GRAFANA, Desired, is_ours, is_unowned
from quarterdeck.operators.pipelines.ports import Remote


class Nothing(NamedTuple):
    """The server is in sync."""

    remote: Remote | None = None
    """The state on the server as last read or written; None if it is not known."""


class Refused(NamedTuple):
    """The same request was rejected before."""

    message: str


class Create(NamedTuple):
    """Create the pipeline."""

    why: Reason = Reason.CREATED


class Update(NamedTuple):
    """Replace the pipeline by its id."""

    id: str
    why: Reason = Reason.UPDATED
    fields: tuple[str, ...] = ()
    """What differs, if it was changed on the server."""


class Rename(NamedTuple):
    """Create it under the new name, then delete the old one, so that one always exists."""

    old_id: str


DELETED = "deleted"
"""Reported instead of field names if the pipeline was deleted on the server."""


class Report(NamedTuple):
    """Only report a change on the server, as the drift policy requires."""

    fields: tuple[str, ...]


Action = Nothing | Refused | Create | Update | Rename | Report


class Known(NamedTuple):
    """The cached state of the server: its last listing, and our own writes since."""

    is_complete: bool = False
    """Whether the server was listed: only then does an unknown id mean a deleted pipeline."""
    remote: Remote | None = None
    """The pipeline of the id in the status, or one that was written for this object."""
    answer: Remote | None = None
    """What the server answered to our last write of it."""

    def differences(self, desired: Desired) -> tuple[str, ...]:
        """Fields that differ from the desired state; formatting by the server does not count."""
        if self.remote is None:
            return ()
        if self.answer is not None and _keep_body(self.answer) == _keep_body(self.remote):
            return ()
        return drift.find_differences(desired, self.remote)


def decide(pipeline: Pipeline, desired: Desired, known: Known) -> Action:
    """The action that syncs a pipeline to the server."""
    status = pipeline.status
    identity = status.id or (known.remote.id if known.remote is not None else "")
    if (said := find_earlier_refusal(pipeline, desired)) is not None:
        return Refused(said)
    if not identity:
        return Create()
    if status.id and status.name and status.name != desired.name:
        return Rename(status.id)
    if status.applied_hash == desired.hash and is_synced(status):
        return _decide_drift(pipeline, desired, known)
    if known.remote is None and known.is_complete:
        return Create(Reason.RECREATED)
    if (
        not status.id
        and known.remote is not None
        and not drift.find_differences(desired, known.remote)
    ):
        return Nothing(known.remote)  # it was written, and only the status was lost
    return Update(identity)


def _decide_drift(pipeline: Pipeline, desired: Desired, known: Known) -> Action:
    policy = pipeline.spec.drift_policy
    if policy == "Ignore" or not known.is_complete:
        return Nothing(known.remote)
    if known.remote is None:
        return Create(Reason.RECREATED) if policy == "Correct" else Report((DELETED,))
    fields = known.differences(desired)
    if not fields:
        return Nothing(known.remote)
    if policy == "Warn":
        return Report(fields)
    return Update(known.remote.id, Reason.CORRECTED, fields)


def _keep_body(remote: Remote) -> Remote:
    """Keep the fields that a user of the server can change."""
    return remote._replace(updated_at="", created_at="", owner="")


def is_synced(status: PipelineStatus) -> bool:
    """Whether the last sync succeeded."""
    found = find(status.conditions, SYNCED)
    return found is not None and found.status == TRUE


def find_earlier_refusal(pipeline: Pipeline, desired: Desired) -> str | None:
    """The server's message if it permanently rejected the same request before; None otherwise."""
    found = find(pipeline.status.conditions, SYNCED)
    if found is None or found.status == TRUE or pipeline.status.applied_hash != desired.hash:
        return None
    is_current = found.observed_generation == pipeline.metadata.generation
    return found.message if is_current and found.reason in PERMANENT else None


def may_adopt(pipeline: Pipeline, remote: Remote) -> bool:
    """Whether a pipeline that is on the server already may be taken over."""
    if is_ours(pipeline, remote):
        return True
    if remote.source_type == GRAFANA:
        return False
    match pipeline.spec.adoption_policy:
        case "Always":
            return True
        case "IfUnowned":
            return is_unowned(remote)
        case _:
            return False


def choose_owner(rivals: list[Pipeline], name: str, known: Known) -> Pipeline:
    """Choose the owner of a name in the fleet: its holder, else the oldest object.

    `known.remote` is the pipeline of that name. Where the server was read, its answer
    counts, since a status may have been lost, or may name a pipeline that was deleted.
    """

    def holds(each: Pipeline) -> bool:
        status, remote = each.status, known.remote
        if remote is not None:
            return each.metadata.uid == remote.owner or status.id == remote.id
        return not known.is_complete and bool(status.id) and status.name == name

    def rank(each: Pipeline) -> tuple[bool, str, str]:
        return (not holds(each), str(each.metadata.creation_timestamp or ""), str(each.key))

    return min(rivals, key=rank)
