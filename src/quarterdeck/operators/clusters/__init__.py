"""The clusters operator: one hub watches many clusters and registries, and keeps what it finds.

Imports `hubstate`, `runtime`, `inventory`, `engine`, `client`, `apis`, `meta`, `kit`. Start at
`cluster_connection` (the steps of one visit to a cluster), then `metric_source`,
`registry_connection` and `monitor_access_policy`. `pool` has the clients, `plan` decides when to
come back, `deployment` keeps collectors on clusters in push mode, `drivers` talk to registries and
to what the hub deploys.
"""

from quarterdeck.operators.clusters.options import CollectorOptions, HubOptions
from quarterdeck.operators.clusters.register import Hub, Shared, controllers, register

__all__ = ["CollectorOptions", "Hub", "HubOptions", "Shared", "controllers", "register"]
