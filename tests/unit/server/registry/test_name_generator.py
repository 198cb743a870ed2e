"""Generated uids are UUIDs of version 4, of the bits that the generator gives."""

import random
import uuid

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.registry.name_generator import generate_uid


@given(st.integers(0, 2**64))
def test_a_uid_is_a_uuid_of_version_4(seed: int) -> None:
    bits = random.Random(seed).getrandbits(128)
    uid = generate_uid(random.Random(seed))
    assert uid == str(uuid.UUID(int=bits, version=4))


def test_a_uid_of_small_bits_keeps_its_zeros() -> None:
    class Nothing(random.Random):
        def getrandbits(self, k: int, /) -> int:
            return 0

    assert generate_uid(Nothing()) == "00000000-0000-4000-8000-000000000000"
