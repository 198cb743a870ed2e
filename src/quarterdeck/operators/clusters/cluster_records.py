"""The record of a ClusterConnection in the store: the declared spec. Pure."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.hubstate.cluster_writes import ClusterSpec
from quarterdeck.operators.clusters import plan
from quarterdeck.operators.clusters.endpoints import hide_credentials


def get_display_name(connection: ClusterConnection) -> str:
    """The display name of the cluster; by default the name of the object."""
    return connection.spec.display_name or connection.metadata.name


def build_spec(connection: ClusterConnection, default_interval_s: int) -> ClusterSpec:
    """The declared spec in the shape that the store keeps."""
    reference, monitoring = connection.spec.credentials_ref, connection.spec.monitoring
    return ClusterSpec(
        display_name=get_display_name(connection),
        endpoint=hide_credentials(connection.spec.endpoint),
        credentials_ref={
            "name": reference.name,
            "namespace": reference.namespace or connection.metadata.namespace,
        },
        labels=connection.spec.labels,
        monitoring={
            "interval": plan.get_interval(monitoring.interval, default_interval_s),
            "timeout": monitoring.timeout or 0,
        },
    )
