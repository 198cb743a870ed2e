"""Condition types and reasons of the operator's kinds. Events use the same reasons."""

import enum

READY = "Ready"
DELETING = "Deleting"
UNSUPPORTED = "Unsupported"

TEMPLATE_VALID = "TemplateValid"

TEMPLATE_RESOLVED = "TemplateResolved"
PROVISIONING = "Provisioning"
VM_CREATED = "VMCreated"
POWERED_ON = "PoweredOn"
ATTESTED = "Attested"
ATTESTATION_REFUSED = "AttestationRefused"
JOINED = "Joined"
BOOTSTRAPPED = "Bootstrapped"
HEALTHY = "Healthy"
DRAINED = "Drained"
VM_CLEANED_UP = "VMCleanedUp"
PAUSED = "Paused"

AVAILABLE = "Available"
PROGRESSING = "Progressing"
REPLICA_FAILURE = "ReplicaFailure"
IMAGE_RESOLVED = "ImageResolved"
REMEDIATION_ALLOWED = "RemediationAllowed"
SCALING = "Scaling"
POLLING = "Polling"

CLUSTER_TYPES = (READY, DELETING, UNSUPPORTED)
TEMPLATE_TYPES = (TEMPLATE_VALID, DELETING, UNSUPPORTED)
CLAIM_TYPES = (
    READY,
    TEMPLATE_RESOLVED,
    PROVISIONING,
    VM_CREATED,
    POWERED_ON,
    ATTESTED,
    ATTESTATION_REFUSED,
    JOINED,
    BOOTSTRAPPED,
    HEALTHY,
    DRAINED,
    VM_CLEANED_UP,
    PAUSED,
    UNSUPPORTED,
)
FLEET_TYPES = (
    AVAILABLE,
    PROGRESSING,
    REPLICA_FAILURE,
    IMAGE_RESOLVED,
    REMEDIATION_ALLOWED,
    PAUSED,
    UNSUPPORTED,
)
POOL_TYPES = (READY, SCALING, POLLING, UNSUPPORTED)


class Reason(enum.StrEnum):
    """Reasons of conditions and events."""

    # HypervisorCluster
    CONNECTION_SUCCESSFUL = "ConnectionSuccessful"
    CONNECTION_FAILED = "ConnectionFailed"
    PROVIDER_UNKNOWN = "ProviderUnknown"
    CREDENTIALS_NOT_FOUND = "CredentialsNotFound"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    TLS_VERIFICATION_FAILED = "TLSVerificationFailed"
    UNREACHABLE = "Unreachable"
    NODES_MISSING = "NodesMissing"
    CREDENTIALS_ROTATED = "CredentialsRotated"
    IN_USE = "InUse"
    FIELDS_IGNORED = "FieldsIgnored"

    # HypervisorMachineTemplate
    CLUSTER_NOT_FOUND = "ClusterNotFound"
    CLUSTER_NOT_READY = "ClusterNotReady"
    VALIDATION_FAILED = "ValidationFailed"
    VALIDATION_SUCCEEDED = "ValidationSucceeded"

    # MachineClaim
    TEMPLATE_NOT_FOUND = "TemplateNotFound"
    TEMPLATE_INVALID = "TemplateInvalid"
    RESOLVED = "Resolved"
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"
    NODE_CHOSEN = "NodeChosen"
    ID_TAKEN = "IdTaken"
    CLONING = "Cloning"
    CLONE_FAILED = "CloneFailed"
    CONFIGURING = "Configuring"
    SEEDING = "Seeding"
    STARTING = "Starting"
    STOPPING = "Stopping"
    STARTED = "Started"
    STOPPED = "Stopped"
    PROVISIONED = "Provisioned"
    CALL_FAILED = "CallFailed"
    CIRCUIT_OPEN = "CircuitOpen"
    BOOTING = "Booting"
    BOOTSTRAP_SERVICE_MISSING = "BootstrapServiceMissing"
    AWAITING_ATTESTATION = "AwaitingAttestation"
    ATTESTED = "AttestationSucceeded"
    ATTESTATION_FAILED = "AttestationFailed"
    HEARTBEAT_LOST = "HeartbeatLost"
    AWAITING_AGENT = "AwaitingAgent"
    JOINED = "AgentReady"
    BOOTSTRAP_FAILED = "BootstrapFailed"
    BOOTSTRAP_TIMEOUT = "BootstrapTimeout"
    PROVISION_TIMEOUT = "ProvisionTimeout"
    PROVISION_FAILED = "ProvisionFailed"
    MACHINE_READY = "MachineReady"
    VM_MISSING = "VMMissing"
    VM_NOT_OWNED = "VMNotOwned"
    VM_STOPPED = "VMStopped"
    VM_SHUTDOWN_DETECTED = "VMShutdownDetected"
    NODE_OFFLINE = "NodeOffline"
    ADOPTED = "Adopted"
    ADOPTION_REFUSED = "AdoptionRefused"
    DRAINING = "Draining"
    DRAIN_TIMEOUT = "DrainTimeout"
    DRAINED = "DrainCompleted"
    TERMINATING = "Terminating"
    CLEANED_UP = "CleanedUp"
    RELEASED = "Released"
    COPY_RELEASED = "CopyReleased"
    CLEANUP_FAILED = "CleanupFailed"
    FORCE_DELETED = "ForceDeleted"
    PAUSED = "Paused"
    NO_FREE_ADDRESS = "NoFreeAddress"

    # Fleet and RunnerPool
    IMAGE_FOUND = "ImageFound"
    IMAGE_NOT_FOUND = "ImageNotFound"
    INVALID_SELECTOR = "InvalidSelector"
    INVALID_LABELS = "InvalidLabels"
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    MINIMUM_AVAILABLE = "MinimumReplicasAvailable"
    MINIMUM_UNAVAILABLE = "MinimumReplicasUnavailable"
    UPDATING = "Updating"
    UPDATE_COMPLETE = "UpdateComplete"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    TOO_MANY_MACHINES = "TooManyMachines"
    TOO_MANY_UNHEALTHY = "TooManyUnhealthy"
    WITHIN_LIMIT = "WithinLimit"
    MACHINES_FAIL = "MachinesFail"
    MACHINES_START = "MachinesStart"
    REPAIRING = "Repairing"
    NEW_REVISION = "NewRevision"
    DEMAND_INCREASED = "DemandIncreased"
    DEMAND_DECREASED = "DemandDecreased"
    STEADY = "Steady"
    POLLED = "Polled"
    POLLING_FAILED = "PollingFailed"
    POLLING_DISABLED = "PollingDisabled"
    LIFETIME_EXCEEDED = "LifetimeExceeded"
    JOB_TIMEOUT = "JobTimeout"
