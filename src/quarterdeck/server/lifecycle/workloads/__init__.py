"""Workloads that behave as if a cluster ran them, for tests and laptops.

Controllers, scheduler and kubelet are the plans Kubernetes would make, in one process and without
containers. Start at `deployments`, follow a pod through `scheduler` to `kubelet`, and see
`behaviour` for what a pod can be told to do.
"""

from collections.abc import Iterator

from quarterdeck.server.lifecycle.controller import Controller


def simulated(nodes: int) -> Iterator[Controller]:
    """The controllers that pretend, on so many nodes."""
    from quarterdeck.server.lifecycle.workloads.deployments import Deployments
    from quarterdeck.server.lifecycle.workloads.kubelet import Kubelet
    from quarterdeck.server.lifecycle.workloads.nodes import Nodes
    from quarterdeck.server.lifecycle.workloads.quotas import Quotas
    from quarterdeck.server.lifecycle.workloads.replicasets import ReplicaSets
    from quarterdeck.server.lifecycle.workloads.scheduler import Scheduler

    yield Nodes(nodes)
    yield Deployments()
    yield ReplicaSets()
    yield Scheduler()
    yield Kubelet()
    yield Quotas()
