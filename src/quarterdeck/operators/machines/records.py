"""Secrets and ConfigMaps that the operator watches.

Secrets by their metadata only: values are read at the moment of use and never cached. ConfigMaps
only if they carry our label: feature flags, controls of the simulator, and jobs of runner pools.
"""

from collections.abc import Mapping

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.jobs import CONFIG_LABEL
from quarterdeck.client.interfaces import Form
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import CacheScope

FEATURES, SIMULATOR = "features", "simulator"
HEADS_ONLY = CacheScope(form=Form.METADATA)
OURS_ONLY = CacheScope(labels=CONFIG_LABEL)


class SecretHead(Object, frozen=True, kw_only=True):
    """The metadata of a Secret."""

    KIND = Secret.KIND

    def __post_init__(self) -> None:
        """Skip the check of the kind: partial metadata is a PartialObjectMetadata."""


class ConfigRecord(Object, frozen=True, kw_only=True):
    """A ConfigMap with our label."""

    KIND = ConfigMap.KIND
    data: Mapping[str, str] = {}
    """The contents."""

    @property
    def purpose(self) -> str:
        """The value of our label: features, simulator or jobs."""
        return self.metadata.labels.get(CONFIG_LABEL, "")
