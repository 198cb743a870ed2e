"""What a Pipeline and a FleetConnection say of themselves: condition types and reasons."""

import enum

READY = "Ready"
SYNCED = "Synced"
DRIFTED = "Drifted"
VALID = "Valid"
TYPES = (READY, SYNCED, DRIFTED, VALID)


class Reason(enum.StrEnum):
    """Why a condition is as it is; events carry the same words."""

    SYNCED = "Synced"
    """The server has what the spec says."""
    VALIDATION_ERROR = "ValidationError"
    """The pipeline is not valid; nothing is tried again until it changes."""
    SYNC_FAILED = "SyncFailed"
    """The server could not be reached, or failed; it is tried again."""
    AUTH_FAILED = "AuthFailed"
    """The server does not accept the credentials, or they do not allow it."""
    RATE_LIMITED = "RateLimited"
    """The server asked for a pause."""
    NAME_CONFLICT = "NameConflict"
    """Another object has the same name in the fleet, and had it first."""
    ADOPTION_REFUSED = "AdoptionRefused"
    """Somebody else's pipeline has the name, and adoptionPolicy does not let us take it over."""
    CONTENTS_UNAVAILABLE = "ContentsUnavailable"
    """The ConfigMap or Secret of contentsFrom, or its key, is missing."""
    NO_CONNECTION = "NoConnection"
    """There is no fleet server to send it to."""
    CONNECTION_INVALID = "ConnectionInvalid"
    """The connection cannot be used as it is: its Secret or its URL."""
    SUSPENDED = "Suspended"
    """spec.paused: nothing is sent."""
    DRY_RUN = "DryRun"
    """The dry-run annotation: only validated."""
    READ_ONLY = "ReadOnly"
    """Only observed, never written."""
    DELETE_FAILED = "DeleteFailed"
    """The pipeline could not be removed from the server; it is tried again."""

    DRIFTED = "Drifted"
    """The pipeline was changed on the server."""
    IN_SYNC = "InSync"
    """The pipeline on the server is as it was sent."""
    VALID = "Valid"
    """The server would accept it."""

    CREATED = "Created"
    UPDATED = "Updated"
    ADOPTED = "Adopted"
    RENAMED = "Renamed"
    RECREATED = "Recreated"
    """It had been deleted on the server."""
    CORRECTED = "DriftCorrected"
    DELETED = "Deleted"
    ORPHANED = "Orphaned"
    """The object is gone and its pipeline stays on the server."""

    CONNECTED = "Connected"
    """The server answers and accepts the credentials."""


PERMANENT = frozenset({Reason.VALIDATION_ERROR})
"""Outcomes after which the same request would fail again: not sent a second time."""
