"""The clusters operator: one hub watches many clusters and registries, and keeps what it finds.

Imports `hubstate`, `runtime`, `inventory`, `engine`, `client`, `apis`, `meta`, `kit`. Start at
`cluster_connection` (the steps of one visit to a cluster), then `metric_source`,
`registry_connection` and `monitor_access_policy`. `pool` has the clients, `plan` decides when to
come back, `drivers` talk to registries.
"""

from quarterdeck.operators.clusters.options import HubOptions
from quarterdeck.operators.clusters.register import Hub, controllers, register

__all__ = ["Hub", "HubOptions", "controllers", "register"]
