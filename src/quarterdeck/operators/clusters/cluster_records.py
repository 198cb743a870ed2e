"""What is kept of a ClusterConnection itself: the declared spec. Pure."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.hubstate.cluster_writes import ClusterSpec
from quarterdeck.operators.clusters import plan


def get_display_name(connection: ClusterConnection) -> str:
    """What people call the cluster."""
    return connection.spec.display_name or connection.metadata.name


def build_spec(connection: ClusterConnection, default_interval_s: int) -> ClusterSpec:
    """What a user declared, as the store keeps it."""
    reference, monitoring = connection.spec.credentials_ref, connection.spec.monitoring
    return ClusterSpec(
        display_name=get_display_name(connection),
        endpoint=connection.spec.endpoint,
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
