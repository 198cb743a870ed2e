"""Condition types and reasons of Applications."""

import enum

READY = "Ready"
PROGRESSING = "Progressing"
TYPES = (READY, PROGRESSING)


class Reason(enum.StrEnum):
    """Reasons of conditions; events use the same ones."""

    RECONCILIATION_SUCCEEDED = "ReconciliationSucceeded"
    """The current state matches the spec."""
    RECONCILIATION_FAILED = "ReconciliationFailed"
    """An API call failed; the message has the error."""
    REPLICAS_NOT_READY = "ReplicasNotReady"
    """Replicas are still starting, and nothing is known to be wrong."""
    NAME_TAKEN = "NameTaken"
    """An object of that name already exists and has another owner."""
    INVALID_NAME = "InvalidName"
    """The name of a child object would be invalid."""

    IMAGE_CANNOT_BE_PULLED = "ImagePullBackOff"
    """The image does not exist, or may not be pulled."""
    CRASH_LOOP = "CrashLoopBackOff"
    """The container exits and is restarted repeatedly."""
    CANNOT_START = "ContainerCannotStart"
    """The container cannot be created or started."""
    UNSCHEDULABLE = "Unschedulable"
    """No node has enough resources for a replica."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """The namespace's quota does not allow another replica."""
    REPLICA_REFUSED = "ReplicaFailure"
    """Replicas cannot be created, for another reason."""
    DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    """The update made no progress for too long."""

    JOB_RUNNING = "JobRunning"
    """The run is in progress."""
    JOB_SUCCEEDED = "JobSucceeded"
    """The run succeeded."""
    JOB_FAILED = "JobFailed"
    """The run failed."""

    UPDATING = "ReplicaSetUpdated"
    """Replicas are being replaced or added."""
    AVAILABLE = "NewReplicaSetAvailable"
    """All replicas run the current spec."""
