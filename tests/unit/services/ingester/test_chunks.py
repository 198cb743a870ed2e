"""Chunks of batches: what is kept of them, how long, and who makes room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.inventory.push.messages import MetricsBatch
from quarterdeck.kit.budget import Budget
from quarterdeck.services.ingester.chunks import ChunkAssembler
from quarterdeck.services.ingester.errors import BatchTooLarge, BufferFull, ProtocolError
from quarterdeck.services.ingester.options import IngesterOptions

OPTIONS = IngesterOptions(max_batch_bytes=100, max_chunks=50, batch_timeout_s=30.0)


def head(index: int, count: int, batch: str = "b1") -> MetricsBatch:
    return MetricsBatch(batch_id=batch, chunk_index=index, chunk_count=count)


def test_chunks_are_returned_with_the_last_and_forgotten() -> None:
    budget = Budget(1000)
    assembler = ChunkAssembler(OPTIONS, budget)
    assert assembler.add(head(0, 2), b"one", 0.0) is None
    assert budget.held == 3
    assert assembler.add(head(1, 2), b"two", 0.0) == [b"one", b"two"]
    assert budget.held == 0
    assembler.check_age(1e9)


def test_batch_that_is_too_big_is_refused_once_and_the_next_one_is_taken() -> None:
    budget = Budget(1000)
    assembler = ChunkAssembler(OPTIONS, budget)
    assert assembler.add(head(0, 4), bytes(60), 0.0) is None
    with pytest.raises(BatchTooLarge, match="more than 100 bytes"):
        assembler.add(head(1, 4), bytes(60), 0.0)
    assert budget.held == 0
    assert assembler.add(head(2, 4), bytes(60), 0.0) is None
    assert assembler.add(head(3, 4), bytes(60), 0.0) is None
    assert assembler.add(head(0, 1, "b2"), b"x", 0.0) == [b"x"]


def test_last_chunk_counts_too() -> None:
    assembler = ChunkAssembler(OPTIONS, Budget(1000))
    with pytest.raises(BatchTooLarge):
        assembler.add(head(0, 1), bytes(101), 0.0)


def test_largest_incomplete_batch_makes_room_and_can_be_sent_again() -> None:
    budget = Budget(100)
    large, small = ChunkAssembler(OPTIONS, budget), ChunkAssembler(OPTIONS, budget)
    assert large.add(head(0, 3), bytes(80), 0.0) is None
    assert small.add(head(0, 3), bytes(30), 0.0) is None
    assert budget.held == 30
    with pytest.raises(BufferFull):
        large.add(head(1, 3), b"x", 0.0)
    assert large.add(head(0, 3), bytes(20), 0.0) is None
    assert small.add(head(1, 3), bytes(30), 0.0) is None


def test_batch_whose_chunks_do_not_come_is_refused() -> None:
    assembler = ChunkAssembler(OPTIONS, Budget(1000))
    assembler.add(head(0, 3), b"x", 5.0)
    assembler.add(head(1, 3), b"x", 30.0)
    assembler.check_age(34.0)
    with pytest.raises(ProtocolError, match="within 30 s"):
        assembler.check_age(35.0)


chunks = st.tuples(
    st.integers(-1, 4), st.integers(-1, 4), st.sampled_from(["a", "b"]), st.binary(max_size=60)
)


@given(st.lists(chunks, max_size=30))
def test_whatever_comes_no_more_is_kept_than_allowed(
    sent: list[tuple[int, int, str, bytes]],
) -> None:
    budget = Budget(150)
    assembler = ChunkAssembler(OPTIONS, budget)
    for index, count, batch, data in sent:
        try:
            found = assembler.add(head(index, count, batch), data, 0.0)
        except (ProtocolError, BatchTooLarge):
            continue
        assert budget.held <= 100
        if found is not None:
            assert sum(map(len, found)) <= 100
            assert len(found) == max(1, count)
