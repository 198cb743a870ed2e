"""Chunks of one batch until it is complete. Pure, and bounded.

Chunks come in order, one batch at a time: a first chunk begins anew, so that a batch whose sending
was interrupted can be sent again on the same stream.
"""

from quarterdeck.hubstate.push.batches import merge_chunks
from quarterdeck.inventory.push.messages import MetricsBatch
from quarterdeck.services.ingester.errors import ProtocolError


class Assembly:
    """The chunks of one stream."""

    def __init__(self, *, max_chunks: int, max_bytes: int) -> None:
        self._max_chunks = max_chunks
        self._max_bytes = max_bytes
        self._chunks: list[MetricsBatch] = []
        self._bytes = 0

    def add(self, chunk: MetricsBatch, size: int) -> MetricsBatch | None:
        """The whole batch once its last chunk is here.

        Raises:
            ProtocolError: if the chunk is not the next one, or the batch is too big.
        """
        count = max(1, chunk.chunk_count)
        if count > self._max_chunks:
            raise ProtocolError(f"a batch has {count} chunks; at most {self._max_chunks} are taken")
        if chunk.chunk_index == 0:
            self._chunks, self._bytes = [], 0
        self._check_order(chunk, count)
        self._bytes += size
        if self._bytes > self._max_bytes:
            raise ProtocolError(f"a batch has more than {self._max_bytes} bytes")
        self._chunks.append(chunk)
        if len(self._chunks) < count:
            return None
        chunks, self._chunks, self._bytes = self._chunks, [], 0
        return merge_chunks(chunks)

    def _check_order(self, chunk: MetricsBatch, count: int) -> None:
        expected = len(self._chunks)
        if chunk.chunk_index != expected or chunk.chunk_index >= count:
            raise ProtocolError(
                f"chunk {chunk.chunk_index} of {count} came where chunk {expected} was expected"
            )
        if self._chunks:
            first = self._chunks[0]
            same = (first.batch_id, first.sequence, first.agent_id, first.chunk_count)
            if same != (chunk.batch_id, chunk.sequence, chunk.agent_id, chunk.chunk_count):
                raise ProtocolError("a chunk belongs to another batch than the chunks before it")
