"""Simulated workloads: controllers, scheduler and kubelet without containers.

They make the plans Kubernetes would make, in one process. The controllers and the scheduler also
run without the kubelet; pods then wait for a node with a kubelet of its own. Start at
`deployments`, follow a pod through `scheduler` to `kubelet`, and see `behavior` for what the
annotations of a pod simulate.
"""

from collections.abc import Iterator

from quarterdeck.server.lifecycle.engine.controller import Controller


def build_simulation(nodes: int) -> Iterator[Controller]:
    """Build a control plane and the kubelets of a number of nodes; loaded only when needed."""
    from quarterdeck.server.lifecycle.workloads.kubelet import Kubelet
    from quarterdeck.server.lifecycle.workloads.nodes import Nodes

    yield Nodes(nodes)
    yield from build_control_plane()
    yield Kubelet()


def build_control_plane() -> Iterator[Controller]:
    """Build the controllers and the scheduler: what a cluster without nodes runs."""
    from quarterdeck.server.lifecycle.workloads.autoscalers import Autoscalers
    from quarterdeck.server.lifecycle.workloads.cron_jobs import CronJobs
    from quarterdeck.server.lifecycle.workloads.daemon_sets import DaemonSets
    from quarterdeck.server.lifecycle.workloads.deployments import Deployments
    from quarterdeck.server.lifecycle.workloads.disruption_budgets import DisruptionBudgets
    from quarterdeck.server.lifecycle.workloads.jobs import Jobs
    from quarterdeck.server.lifecycle.workloads.node_failure import NodeFailure
    from quarterdeck.server.lifecycle.workloads.node_health import NodeHealth
    from quarterdeck.server.lifecycle.workloads.replica_sets import (
        REPLICATION_CONTROLLER,
        ReplicaSets,
    )
    from quarterdeck.server.lifecycle.workloads.resource_quotas import ResourceQuotas
    from quarterdeck.server.lifecycle.workloads.scheduler import Scheduler
    from quarterdeck.server.lifecycle.workloads.stateful_sets import StatefulSets
    from quarterdeck.server.lifecycle.workloads.volume_claims import VolumeClaims

    yield ResourceQuotas()  # first, so that the others see the usage without ended pods
    yield Deployments()
    yield ReplicaSets()
    yield ReplicaSets(REPLICATION_CONTROLLER)
    yield StatefulSets()
    yield DaemonSets()
    yield CronJobs()
    yield Jobs()
    yield Autoscalers()
    yield Scheduler()
    yield NodeHealth()
    yield NodeFailure()
    yield VolumeClaims()
    yield DisruptionBudgets()
