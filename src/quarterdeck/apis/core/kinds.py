"""Every kind of the core group that has a type."""

from quarterdeck.apis.core.config import (
    ConfigMap,
    Namespace,
    ResourceQuota,
    Secret,
    ServiceAccount,
)
from quarterdeck.apis.core.events import Event
from quarterdeck.apis.core.nodes import Node
from quarterdeck.apis.core.pods import Pod
from quarterdeck.apis.core.services import Endpoints, Service

KINDS = (
    Namespace,
    ConfigMap,
    Secret,
    ServiceAccount,
    ResourceQuota,
    Event,
    Node,
    Service,
    Endpoints,
    Pod,
)
