"""The four kinds of `clusterpulse.io/v1alpha1`, one module each."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.group import FINALIZER, GROUP
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.apis.clusterpulse.monitor_access_policy import MonitorAccessPolicy
from quarterdeck.apis.clusterpulse.registry_connection import RegistryConnection
from quarterdeck.meta.objects import Object

__all__ = [
    "FINALIZER",
    "GROUP",
    "KINDS",
    "ClusterConnection",
    "MetricSource",
    "MonitorAccessPolicy",
    "RegistryConnection",
]

KINDS: tuple[type[Object], ...] = (
    ClusterConnection,
    RegistryConnection,
    MetricSource,
    MonitorAccessPolicy,
)
