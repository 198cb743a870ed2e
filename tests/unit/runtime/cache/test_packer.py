"""Objects take less memory packed, and come back as they were."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.runtime.cache.packer import Packer
from quarterdeck.runtime.cache.snapshot import Snapshot

_PRINTED = bytes(range(93, 127)) + bytes(range(35, 92))
VALUES = st.text(max_size=300) | st.integers() | st.lists(st.text(max_size=20), max_size=20)


def encoded(number: int, spec: object) -> bytes:
    metadata = {"name": f"thing-{number}", "uid": f"{number:032x}", "resourceVersion": "7"}
    return bytes(memoryview(msgspec.json.encode({"metadata": metadata, "spec": spec})))


@given(specs=st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=9), max_size=9))
def test_what_is_packed_comes_back(specs: list[object]) -> None:
    packer = Packer()
    for number, spec in enumerate(specs):
        raw = encoded(number, spec)
        passing = Snapshot.of(raw)
        packed = packer.pack(passing)
        assert packed.raw == raw
        assert (packed.key, packed.uid, packed.version) == (passing.key, passing.uid, 7)
        assert packer.pack(packed) is packed


def test_alike_objects_shrink_to_their_difference() -> None:
    packer = Packer()
    spec = {f"field-{number}": f"a value of {number}" for number in range(40)}
    packed = [packer.pack(Snapshot.of(encoded(number, spec))) for number in range(50)]
    assert all(len(each.data) < len(each.raw) / 8 for each in packed[1:])


def test_a_new_sample_leaves_old_objects_readable() -> None:
    packer = Packer()
    raws = [encoded(number, {"text": f"{number % 7}" * 200}) for number in range(9_000)]
    packed = [packer.pack(Snapshot.of(raw)) for raw in raws]
    assert len({id(each.packed_by) for each in packed}) > 2
    assert [each.raw for each in packed] == raws


@pytest.mark.parametrize("size", [pytest.param(10, id="small"), pytest.param(20_000, id="large")])
def test_sizes_that_do_not_pay_stay_as_they_are(size: int) -> None:
    passing = Snapshot.of(b'{"metadata":{},"spec":"%b"}' % (b"x" * size))
    assert Packer().pack(passing) is passing


def test_what_does_not_shrink_is_rarely_tried_again() -> None:
    rng, packer = random.Random(1), Packer()
    secrets = [Snapshot.of(encoded(n, rng.randbytes(1500).hex())) for n in range(64)]
    alike = Snapshot.of(encoded(0, "x" * 1500))
    packer.pack(alike)
    assert packer.pack(secrets[0]).packed_by is not None  # hexadecimal digits shrink by half
    noise = Snapshot.of(b'{"metadata":{},"spec":"%b"}' % bytes(rng.choices(_PRINTED, k=2000)))
    assert packer.pack(noise) is noise
    assert packer.pack(alike) is alike
    for _ in range(70):
        packer.pack(noise)
    assert any(packer.pack(alike) is not alike for _ in range(70))
