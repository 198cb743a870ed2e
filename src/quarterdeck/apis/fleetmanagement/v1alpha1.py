"""`fleetmanagement.grafana.com/v1alpha1`: every kind of the group at this version."""

from quarterdeck.apis.fleetmanagement.collector import Collector
from quarterdeck.apis.fleetmanagement.connection import (
    CredentialsReference,
    FleetConnection,
    FleetConnectionSpec,
    FleetConnectionStatus,
    RateLimit,
)
from quarterdeck.apis.fleetmanagement.discovery import CollectorDiscovery, PipelineDiscovery
from quarterdeck.apis.fleetmanagement.external_sync import ExternalAttributeSync
from quarterdeck.apis.fleetmanagement.names import (
    DRY_RUN,
    FINALIZER,
    FORCE_DELETE,
    GROUP,
    MAX_CONTENTS,
)
from quarterdeck.apis.fleetmanagement.pipeline import (
    ContentsSource,
    Pipeline,
    PipelineSource,
    PipelineSpec,
    PipelineStatus,
)
from quarterdeck.apis.fleetmanagement.pipeline_revision import PipelineRevision
from quarterdeck.apis.fleetmanagement.pipeline_set import PipelineSet
from quarterdeck.apis.fleetmanagement.policies import RemoteAttributePolicy, TenantPolicy
from quarterdeck.meta.objects import Object

__all__ = [
    "DRY_RUN",
    "FINALIZER",
    "FORCE_DELETE",
    "GROUP",
    "KINDS",
    "MAX_CONTENTS",
    "Collector",
    "CollectorDiscovery",
    "ContentsSource",
    "CredentialsReference",
    "ExternalAttributeSync",
    "FleetConnection",
    "FleetConnectionSpec",
    "FleetConnectionStatus",
    "Pipeline",
    "PipelineDiscovery",
    "PipelineRevision",
    "PipelineSet",
    "PipelineSource",
    "PipelineSpec",
    "PipelineStatus",
    "RateLimit",
    "RemoteAttributePolicy",
    "TenantPolicy",
]

KINDS: tuple[type[Object], ...] = (
    Pipeline,
    FleetConnection,
    PipelineSet,
    PipelineRevision,
    Collector,
    RemoteAttributePolicy,
    PipelineDiscovery,
    CollectorDiscovery,
    TenantPolicy,
    ExternalAttributeSync,
)
