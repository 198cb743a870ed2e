"""Clusters created on demand: a port, so that callers do not depend on how they are created.

Demo clusters and the targets of simulated experiments come from it. `app` fills it with embedded
API servers on loopback.
"""

from typing import Protocol

from quarterdeck.client.config.cluster import ClusterConfig


class ClusterFactory(Protocol):
    """Creates and deletes clusters with real API servers."""

    async def create(self, name: str) -> ClusterConfig:
        """Start a cluster unless one of that name runs; returns an administrator's configuration.

        The configuration contains all credentials themselves, not paths of files, so that it can
        be written to a kubeconfig.
        """
        ...

    async def delete(self, name: str) -> None:
        """Stop the cluster and remove its objects; an absent cluster is not an error."""
        ...
