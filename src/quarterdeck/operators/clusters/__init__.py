"""The clusters operator: one hub watches many clusters and registries, and stores their state.

Imports `hubstate`, `runtime`, `inventory`, `engine`, `client`, `apis`, `meta`, `kit`. Start at
`cluster_connection` (the steps of one visit to a cluster), then `metric_source`,
`registry_connection` and `monitor_access_policy`. `pool` has the clients, `plan` decides when to
visit again, `deployment` deploys collectors on clusters in push mode, `drivers` has the clients of
registries and of deployed collectors.
"""

from quarterdeck.operators.clusters.options import CollectorOptions, HubOptions
from quarterdeck.operators.clusters.register import Hub, Shared, declare_controllers, register

__all__ = ["CollectorOptions", "Hub", "HubOptions", "Shared", "declare_controllers", "register"]
