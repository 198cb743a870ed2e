"""Records the last stored batch of a cluster, to detect duplicate and outdated ones. Pure."""

from collections.abc import Mapping

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.writes import SetValue
from quarterdeck.inventory.push.messages import MetricsBatch

KEPT_S = 7 * 24 * 3600
"""Lifetime of a checkpoint. Without one a batch that is sent again is stored again, in order."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The last batch that was stored, committed together with its data."""

    agent_id: str = ""
    sequence: int = 0
    batch_id: str = ""
    cluster_at: float = 0.0
    """When the newest reading of the cluster was made, in unix seconds."""
    sources_at: Mapping[str, float] = {}
    """When the newest collection of each source was made, in unix seconds."""

    def has_stored(self, batch: MetricsBatch) -> bool:
        """Whether this very batch was stored before."""
        if batch.sequence > 0:
            return batch.agent_id == self.agent_id and batch.sequence <= self.sequence
        return bool(batch.batch_id) and batch.batch_id == self.batch_id

    def is_continued_by(self, batch: MetricsBatch) -> bool:
        """Whether a batch that is not stored yet is of the same run as the last one.

        Then it is newer by its number, even if the collector's clock was set back.
        """
        return batch.sequence > 0 and batch.agent_id == self.agent_id

    def advance(self, batch: MetricsBatch, at: float, *, sources: frozenset[str]) -> "Checkpoint":
        """Return the checkpoint after a batch; `sources` are those that still exist."""
        moments = {name: moment for name, moment in self.sources_at.items() if name in sources}
        for each in batch.custom_resources:
            if each.source_id in sources:
                moments[each.source_id] = max(at, moments.get(each.source_id, 0.0))
        newest = max(at, self.cluster_at) if batch.cluster_metrics is not None else self.cluster_at
        return Checkpoint(
            agent_id=batch.agent_id,
            sequence=batch.sequence,
            batch_id=batch.batch_id,
            cluster_at=newest,
            sources_at=moments,
        )


def get_key(cluster: str) -> str:
    """Return the key of a cluster's checkpoint."""
    return keys.cluster(cluster, "collector:mark")


def plan_checkpoint(cluster: str, data: bytes) -> SetValue:
    """Plan the write of an encoded checkpoint.

    It expires, because a batch may be stored while its cluster is deleted.
    """
    return SetValue(get_key(cluster), data, KEPT_S)


def decode_checkpoint(data: bytes | None) -> Checkpoint:
    """Decode a stored checkpoint; an empty one if it cannot be decoded."""
    try:
        return msgspec.json.decode(data, type=Checkpoint) if data else Checkpoint()
    except msgspec.DecodeError:
        return Checkpoint()
