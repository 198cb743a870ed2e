"""Clusters made on demand: a port, so that whoever needs a cluster need not know how one is made.

Demo clusters and the targets of simulated experiments come from it. `app` fills it with embedded
API servers on loopback.
"""

from typing import Protocol

from quarterdeck.client.config.cluster import ClusterConfig


class ClusterFactory(Protocol):
    """Makes real API servers and takes them away."""

    async def create(self, name: str) -> ClusterConfig:
        """Start a cluster, or return the running one of that name: how an administrator reaches it.

        The configuration holds everything by value, so that it can be written to a kubeconfig.
        """
        ...

    async def delete(self, name: str) -> None:
        """Stop the cluster and forget its objects; an absent one is fine."""
        ...
