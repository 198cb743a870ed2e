"""What stored bytes become for clients is computed once for each value."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.registry.encoded_cache import EncodedCache


def test_a_value_is_encoded_once() -> None:
    made: list[bytes] = []

    def make(stored: bytes) -> bytes:
        made.append(stored)
        return stored + b"!"

    cache = EncodedCache()
    assert [cache.get(b"a", make) for _ in range(3)] == [b"a!"] * 3
    assert made == [b"a"]


def test_equal_bytes_are_the_stored_ones() -> None:
    stored = bytes(bytearray(b"same"))
    assert EncodedCache().get(stored, lambda each: bytes(bytearray(each))) is stored


@given(st.lists(st.binary(max_size=12), max_size=60), st.integers(0, 60))
def test_the_cache_stays_within_its_limit_and_returns_right_values(
    values: list[bytes], limit: int
) -> None:
    cache = EncodedCache(limit_bytes=limit)
    for value in values:
        assert cache.get(value, lambda each: each[::-1]) == value[::-1]
        held = cache._results
        total = sum(len(key) + (0 if key is each else len(each)) for key, each in held.items())
        assert total <= max(limit, 0)
