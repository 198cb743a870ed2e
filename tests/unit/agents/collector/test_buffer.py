"""The ring on disk."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.agents.collector.buffer import DiskBuffer


def open_buffer(folder: Path, batches: int = 3, size: int = 10_000) -> DiskBuffer:
    return DiskBuffer(folder, max_batches=batches, max_bytes=size)


def drain(buffer: DiskBuffer) -> list[list[bytes]]:
    found = []
    while (head := buffer.peek()) is not None:
        found.append(head[1])
        buffer.remove(head[0])
    return found


def test_the_oldest_goes_when_it_is_full(tmp_path: Path) -> None:
    buffer = open_buffer(tmp_path)
    for number in range(1, 5):
        buffer.push([str(number).encode()])
    assert buffer.dropped == 1
    assert drain(buffer) == [[b"2"], [b"3"], [b"4"]]
    assert list(tmp_path.iterdir()) == []


def test_bytes_are_bounded_too(tmp_path: Path) -> None:
    buffer = open_buffer(tmp_path, batches=100, size=250)
    for number in range(4):
        buffer.push([bytes([number]) * 96])
    assert (len(buffer), buffer.dropped) == (2, 2)


def test_batches_outlive_the_process_in_order(tmp_path: Path) -> None:
    first = open_buffer(tmp_path, batches=20)
    for number in range(12):
        first.push([b"a", str(number).encode()])
    again = open_buffer(tmp_path, batches=20)
    again.push([b"last"])
    assert drain(again) == [*([b"a", str(n).encode()] for n in range(12)), [b"last"]]


def test_unfinished_and_torn_files_are_not_sent(tmp_path: Path) -> None:
    buffer = open_buffer(tmp_path)
    buffer.push([b"torn"])
    buffer.push([b"whole"])
    torn = min(tmp_path.glob("*.batch"))
    torn.write_bytes(torn.read_bytes()[:-1])
    (tmp_path / ".9.tmp").write_bytes(b"half")
    again = open_buffer(tmp_path)
    assert drain(again) == [[b"whole"]]
    assert again.dropped == 1


def test_an_entry_that_was_dropped_while_it_was_sent_is_fine(tmp_path: Path) -> None:
    buffer = open_buffer(tmp_path, batches=1)
    buffer.push([b"1"])
    head = buffer.peek()
    assert head is not None
    buffer.push([b"2"])
    buffer.remove(head[0])
    assert drain(buffer) == [[b"2"]]


@given(st.lists(st.lists(st.binary(min_size=0, max_size=30), min_size=1, max_size=4), max_size=8))
def test_what_comes_out_is_the_newest_of_what_went_in(batches: list[list[bytes]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        buffer = open_buffer(Path(folder), batches=5)
        for each in batches:
            buffer.push(each)
        assert drain(buffer) == batches[-5:]
        assert buffer.dropped == max(0, len(batches) - 5)
