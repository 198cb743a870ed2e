"""Blocks of PEM in a text."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.kinds.pem_blocks import iterate_blocks, load_certificate

BLOCK = b"-----BEGIN A B-----\nYWJj\n-----END A B-----"


def test_blocks_are_found_between_other_text() -> None:
    first, second = iterate_blocks(b"text\n" + BLOCK + b"\nmore\n" + BLOCK)
    assert first == second
    assert (first.type, first.body.strip(), first.text) == ("A B", b"YWJj", BLOCK + b"\n")


def test_a_block_without_its_end_ends_the_walk() -> None:
    assert [*iterate_blocks(b"-----BEGIN A-----\nYWJj\n-----END B-----\n" + BLOCK)] == []
    assert [*iterate_blocks(b"-----BEGIN A")] == []


def test_what_is_no_certificate_does_not_load() -> None:
    (block,) = iterate_blocks(BLOCK)
    assert load_certificate(block) is None


@given(st.lists(st.tuples(st.sampled_from(["A", "B C"]), st.binary(max_size=9).map(bytes.hex))))
def test_every_block_that_was_written_is_read(written: list[tuple[str, str]]) -> None:
    text = "".join(
        f"-----BEGIN {name}-----\n{body}\n-----END {name}-----\n" for name, body in written
    )
    read = [(each.type, each.body.strip().decode()) for each in iterate_blocks(text.encode())]
    assert read == written
