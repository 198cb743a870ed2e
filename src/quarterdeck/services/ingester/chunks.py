"""Assembles the chunks of a batch, within a limit. Pure.

Chunks arrive in order, one batch at a time. A first chunk starts over, so that an interrupted batch
can be sent again on the same stream. Chunks are kept encoded, which takes a tenth of the memory of
decoded ones.
"""

from quarterdeck.inventory.push.messages import MetricsBatch
from quarterdeck.kit.budget import Budget
from quarterdeck.services.ingester.errors import BatchTooLarge, BufferFull, ProtocolError
from quarterdeck.services.ingester.options import IngesterOptions

_Identity = tuple[str, int, str, int]


class ChunkAssembler:
    """The chunks of one stream."""

    def __init__(self, options: IngesterOptions, budget: Budget) -> None:
        self._options = options
        self._share = budget.open(self._evict)
        self._chunks: list[bytes] = []
        self._identity: _Identity | None = None
        self._began = 0.0
        self._is_skipped = False
        self._is_evicted = False

    def add(self, head: MetricsBatch, data: bytes, now: float) -> list[bytes] | None:
        """Add a chunk; returns all chunks of the batch after the last one.

        Raises:
            ProtocolError: if the chunk is not the next one.
            BatchTooLarge: if it makes the batch too big; the chunks that follow are ignored.
            BufferFull: if the batch had to make room for others.
        """
        count = self._begin(head, now)
        if self._is_evicted:
            raise BufferFull(
                "the hub holds too many incomplete batches; send the batch again later"
            )
        if self._is_skipped:
            return None
        if head.chunk_index != len(self._chunks) or head.chunk_index >= count:
            raise ProtocolError(
                f"expected chunk {len(self._chunks)} of {count}, got chunk {head.chunk_index}"
            )
        self._check_size(self._share.size + len(data))
        self._chunks.append(data)
        if len(self._chunks) == count:
            chunks = self._chunks
            self.clear()
            return chunks
        self._share.resize(self._share.size + len(data))
        return None

    def check_age(self, now: float) -> None:
        """Refuse a batch whose chunks do not arrive in time.

        Raises:
            ProtocolError: if it was begun too long ago.
        """
        limit_s = self._options.batch_timeout_s
        if self._chunks and now >= self._began + limit_s:
            raise ProtocolError(f"a batch was not complete within {limit_s:g} s")

    def clear(self) -> None:
        """Drop all chunks."""
        self._chunks = []
        self._share.close()

    def _begin(self, head: MetricsBatch, now: float) -> int:
        """Record which batch a chunk belongs to; returns the number of its chunks."""
        count = max(1, head.chunk_count)
        if count > self._options.max_chunks:
            raise ProtocolError(
                f"a batch has {count} chunks; at most {self._options.max_chunks} are allowed"
            )
        identity = (head.batch_id, head.sequence, head.agent_id, head.chunk_count)
        if head.chunk_index == 0:
            self.clear()
            self._identity, self._began = identity, now
            self._is_skipped = self._is_evicted = False
        elif self._identity not in (None, identity):
            raise ProtocolError("a chunk belongs to another batch than the chunks before it")
        return count

    def _check_size(self, size: int) -> None:
        limit = self._options.max_batch_bytes
        if size > limit:
            self._is_skipped = True
            self.clear()
            raise BatchTooLarge(f"the batch has more than {limit} bytes")

    def _evict(self) -> None:
        self._chunks = []
        self._is_evicted = True
