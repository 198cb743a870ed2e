"""What the four kinds say of themselves: condition types and reasons; events carry the reasons."""

import enum

READY = "Ready"
REACHABLE = "Reachable"
NODES_READY = "NodesReady"
OPERATORS_HEALTHY = "OperatorsHealthy"
DATA_FRESH = "DataFresh"
TLS_VERIFIED = "TLSVerified"
STORED = "Stored"
"""Whether the last finding is in the hub's store."""
COLLECTOR_READY = "CollectorReady"
"""Whether the collector of a cluster in push mode is connected."""
CLUSTER_TYPES = (
    *(READY, REACHABLE, NODES_READY, OPERATORS_HEALTHY, DATA_FRESH),
    *(TLS_VERIFIED, STORED, COLLECTOR_READY),
)
SOURCE_TYPES = (READY, STORED)
REGISTRY_TYPES = (READY, STORED)


class Reason(enum.StrEnum):
    """Why a condition is as it is."""

    CONNECTED = "Connected"
    UNREACHABLE = "Unreachable"
    """Nobody answers."""
    TIMEOUT = "Timeout"
    """No answer in time."""
    UNTRUSTED = "UntrustedServer"
    """The server's certificate is not accepted."""
    UNAUTHORIZED = "Unauthorized"
    """The token is wrong or has expired."""
    FORBIDDEN = "Forbidden"
    """The identity may not read what is needed."""
    BAD_ANSWER = "BadAnswer"
    """What answered is no API server."""
    SERVER_ERROR = "ServerError"
    """The API server failed."""
    CIRCUIT_OPEN = "CircuitOpen"
    """It failed repeatedly and is left alone for a while."""
    NO_CREDENTIALS = "CredentialsUnavailable"
    """The Secret, or a key of it, is missing or cannot be used."""
    NAME_CONFLICT = "NameConflict"
    """An older object has the same name in another namespace."""
    INVALID = "InvalidSpec"

    INSECURE = "InsecureSkipTLSVerify"
    VERIFIED = "Verified"
    SYSTEM_TRUST = "SystemTrust"
    PLAIN_HTTP = "PlainHTTP"

    STORED = "Stored"
    STORE_UNAVAILABLE = "StoreUnavailable"
    STORE_REFUSED = "StoreRefused"

    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"

    COLLECTED = "CollectionSuccessful"
    PARTIAL = "CollectedWithErrors"
    DELETING = "Deleting"
    ERROR = "Error"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    SLOW = "Slow"
    UNAVAILABLE = "Unavailable"

    IMAGE_NOT_SET = "ImageNotSet"
    """The hub has no image to deploy a collector with."""
    NOT_CONNECTED = "NotConnected"
    """The collector is deployed, or the user deploys it, and it has not connected."""
    AUTHORITY_UNAVAILABLE = "AuthorityUnavailable"
    """The ConfigMap with the ingester's authority is missing."""
    INGESTER_UNAVAILABLE = "IngesterUnavailable"
    """The ingester cannot listen."""
    REMOVAL_FAILED = "RemovalFailed"
    """The collector's objects could not be deleted."""

    ACTIVE = "Active"
    INACTIVE = "Inactive"
    EXPIRED = "Expired"
